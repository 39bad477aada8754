#include "staging/copy/medium.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copy.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kAlignment = 4096;  // of memory and offset; no file system asks for more
static_assert(kCrcBlock % kPiece == 0);

}  // namespace

MediumReader::MediumReader(const std::filesystem::path& path)
    : path_(path), buffer_(static_cast<std::byte*>(::operator new(kPiece, std::align_val_t(kAlignment)))) {
  try {
    Open();
  } catch (...) {
    ::operator delete(buffer_, std::align_val_t(kAlignment));
    throw;
  }
}

MediumReader::~MediumReader() { ::operator delete(buffer_, std::align_val_t(kAlignment)); }

void MediumReader::Open() {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  fd_ = UniqueFd(::open(path_.c_str(), kFlags | O_DIRECT));
  if (!fd_ && errno == EINVAL) {
    fd_ = OpenFile(path_, kFlags);
    ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  if (!fd_) ThrowErrno(fmt::format("cannot open '{}' for reading", path_.string()));
  struct stat info {};
  CheckErrno(::fstat(fd_.get(), &info), fmt::format("cannot ask for the size of '{}'", path_.string()));
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void MediumReader::ReadThroughCache() {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  ::fcntl(fd_.get(), F_SETFL, flags & ~O_DIRECT);
}

std::span<const std::byte> MediumReader::Next() {
  if (offset_ >= size_) return {};
  if (offset_ % kAlignment != 0) ReadThroughCache();  // after a read that the kernel cut short
  while (true) {
    const auto count = ::pread(fd_.get(), buffer_, kPiece - offset_ % kPiece, static_cast<off_t>(offset_));
    if (count >= 0) {
      offset_ = count == 0 ? size_ : offset_ + static_cast<std::uint64_t>(count);
      return {buffer_, static_cast<std::size_t>(count)};
    }
    if (errno == EINVAL && (::fcntl(fd_.get(), F_GETFL) & O_DIRECT) != 0) {
      ReadThroughCache();  // opened but not read: so some network file systems refuse
    } else if (errno != EINTR) {
      ThrowErrno(fmt::format("cannot read '{}'", path_.string()));
    }
  }
}

std::vector<std::uint64_t> WrongBlocks(const std::filesystem::path& path, const std::vector<std::uint32_t>& crcs,
                                       const std::function<void(std::span<const std::byte>)>& on_piece) {
  MediumReader reader(path);
  std::vector<std::uint32_t> found;
  std::uint64_t done = 0;
  for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
    if (done % kCrcBlock == 0) found.push_back(0);
    found.back() = Crc32c(piece, found.back());  // a piece never crosses the border of a block
    done += piece.size();
    on_piece(piece);
  }
  std::vector<std::uint64_t> wrong;
  for (std::size_t block = 0; block < std::max(found.size(), crcs.size()); ++block) {
    const bool same = block < found.size() && block < crcs.size() && found[block] == crcs[block];
    if (!same) wrong.push_back(block);
  }
  return wrong;
}

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
