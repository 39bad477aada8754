#include "staging/out/read_back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copy.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPiece = 1 << 20;  // divides kCrcBlock
constexpr std::size_t kAlignment = 4096;
static_assert(kCrcBlock % kPiece == 0);

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

std::unique_ptr<std::byte, FreeMemory> AlignedPiece() {
  std::unique_ptr<std::byte, FreeMemory> memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kPiece)));
  if (!memory) throw std::bad_alloc();
  return memory;
}

/// Reads pieces at multiples of kPiece.
class PieceReader {
 public:
  explicit PieceReader(const fs::path& path) : path_(path), buffer_(AlignedPiece()) {
    fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECT));
    if (!fd_) ReadCached();
  }

  /// The piece at `offset`; shorter only at the end of the file.
  std::span<const std::byte> At(std::uint64_t offset) {
    std::size_t filled = 0;
    while (filled < kPiece) {
      const auto count =
          ::pread(fd_.get(), buffer_.get() + filled, kPiece - filled, static_cast<off_t>(offset + filled));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EINVAL && direct_) {  // opened, but not read so
        ReadCached();
        continue;
      }
      if (count < 0) ThrowErrno(fmt::format("cannot read '{}'", path_.string()));
      filled += static_cast<std::size_t>(count);
      if (count == 0 || (direct_ && filled % kAlignment != 0)) break;  // direct reads end unaligned only at the end
    }
    return {buffer_.get(), filled};
  }

 private:
  void ReadCached() {
    fd_ = OpenFile(path_, O_RDONLY | O_NOFOLLOW);
    direct_ = false;
  }

  const fs::path& path_;
  std::unique_ptr<std::byte, FreeMemory> buffer_;
  UniqueFd fd_;
  bool direct_ = true;
};

[[noreturn]] void Differs(const fs::path& path, std::uint64_t offset) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}', read back, differs from what was written in the block at byte {}", path.string(),
                          offset - offset % kCrcBlock),
              "the destination's medium is not to be trusted: tell its administrator; the original is untouched");
}

}  // namespace

std::uint32_t ReadBack(const fs::path& path, Bytes size, const std::vector<std::uint32_t>& block_crcs,
                       const std::function<void(std::uint64_t done)>& on_block) {
  PieceReader reader(path);
  std::uint32_t whole = 0;
  std::uint32_t block = 0;
  std::uint64_t offset = 0;
  while (offset < size.count) {
    const auto piece = reader.At(offset);
    if (piece.empty() || piece.size() > size.count - offset) Differs(path, offset);
    whole = Crc32c(piece, whole);
    block = Crc32c(piece, block);
    const auto begin = offset;
    offset += piece.size();
    on_block(offset);
    if (offset % kCrcBlock != 0 && offset != size.count) {
      if (piece.size() != kPiece) Differs(path, offset);  // it has become shorter
      continue;
    }
    const auto number = begin / kCrcBlock;
    if (number >= block_crcs.size() || block_crcs[number] != block) Differs(path, begin);
    block = 0;
  }
  if (!reader.At(offset - offset % kPiece).subspan(offset % kPiece).empty()) Differs(path, offset);
  return whole;
}

}  // namespace slipway::staging
