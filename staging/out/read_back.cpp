#include "staging/out/read_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "staging/copy/copy.h"
#include "staging/copy/medium.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void Differs(const fs::path& path, std::uint64_t offset) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}', read back, differs from what was written in the block at byte {}", path.string(),
                          offset - offset % kCrcBlock),
              "the destination's medium is not to be trusted: tell its administrator; the original is untouched");
}

std::uint32_t CrcOfAll(const std::vector<std::uint32_t>& blocks, std::uint64_t size) {
  std::uint32_t crc = 0;
  for (const auto block : blocks) {
    const auto length = std::min<std::uint64_t>(kCrcBlock, size);
    crc = Crc32cCombine(crc, block, length);
    size -= length;
  }
  return crc;
}

}  // namespace

std::uint32_t ReadBack(const fs::path& path, Bytes size, const std::vector<std::uint32_t>& block_crcs,
                       const std::function<void(std::uint64_t done)>& on_block) {
  std::uint64_t done = 0;
  const auto wrong = WrongBlocks(path, block_crcs, [&](std::span<const std::byte> piece) {
    done += piece.size();
    on_block(done);
  });
  if (!wrong.empty()) Differs(path, wrong.front() * kCrcBlock);
  if (done != size.count) Differs(path, std::min(done, size.count));
  return CrcOfAll(block_crcs, size.count);
}

}  // namespace slipway::staging
