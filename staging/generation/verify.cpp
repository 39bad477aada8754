#include "staging/generation/verify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copy.h"
#include "staging/dataset/manifest.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// Fills `block` as far as the file goes; returns how far.
std::size_t ReadBlock(int fd, std::span<std::byte> block, const fs::path& path) {
  std::size_t filled = 0;
  while (filled < block.size()) {
    const auto count = ::read(fd, block.data() + filled, block.size() - filled);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) ThrowErrno(fmt::format("cannot read '{}'", path.string()));
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  return filled;
}

/// Checks one file; what is wrong first is what it tells.
class FileVerifier {
 public:
  FileVerifier(const fs::path& path, const ManifestFile& entry, DataFormat format)
      : path_(path), entry_(entry), fd_(OpenFile(path, O_RDONLY | O_NOFOLLOW)), check_(MakeStreamCheck(format, path)) {
    ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);  // as far as the kernel can: the disk, not its cache
  }

  std::optional<BadFile> Run(const std::function<void(std::uint64_t)>& on_block) {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) ThrowErrno(fmt::format("cannot stat '{}'", path_.string()));
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (!S_ISREG(info.st_mode)) return Bad({}, "it is not a regular file");
    if (size != entry_.bytes.count) return Bad({}, fmt::format("{} bytes, {} were staged", size, entry_.bytes.count));
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kCrcBlock, std::max<std::uint64_t>(size, 1)));
    for (std::uint64_t offset = 0; offset < size;) {
      const std::span block(buffer.data(), ReadBlock(fd_.get(), buffer, path_));
      if (block.empty()) return Bad(offset, "the file ended early");
      if (auto bad = CheckBlock(offset, block)) return bad;
      check_->Update(block);
      offset += block.size();
      on_block(block.size());
    }
    return CheckRecords();
  }

 private:
  BadFile Bad(std::optional<std::uint64_t> offset, std::string reason) const {
    return {entry_.path, offset, std::move(reason)};
  }

  std::optional<BadFile> CheckBlock(std::uint64_t offset, std::span<const std::byte> block) const {
    const auto& crcs = entry_.crc32c;
    if (crcs.empty()) return {};  // never read when it was staged
    const auto index = offset / kCrcBlock;
    if (index >= crcs.size()) return Bad(offset, "the manifest has no CRC32C for this block");
    const auto found = Crc32c(block);
    if (found == crcs[index]) return {};
    return Bad(offset, fmt::format("the block of {} bytes at byte {} has CRC32C {:08x}, {:08x} was staged",
                                   block.size(), offset, found, crcs[index]));
  }

  std::optional<BadFile> CheckRecords() {
    const auto records = check_->Finish().records;
    if (!records || !entry_.records || *records == *entry_.records) return {};
    return Bad({}, fmt::format("{} records, {} were staged", *records, *entry_.records));
  }

  const fs::path path_;
  const ManifestFile& entry_;
  UniqueFd fd_;
  std::unique_ptr<StreamCheck> check_;
};

}  // namespace

std::vector<BadFile> VerifyGeneration(const fs::path& directory,
                                      const std::function<void(Bytes done, const std::string& file)>& progress) {
  const auto manifest = WithContext(fmt::format("while reading the manifest of '{}'", directory.string()),
                                    [&] { return ParseManifest(ReadFile(directory / kManifestName)); });
  std::vector<BadFile> bad_files;
  Bytes done;
  for (const auto& entry : manifest.files) {
    const auto format = manifest.verify == VerifyMode::kOff ? DataFormat::kRaw : manifest.format;
    try {
      FileVerifier verifier(directory / entry.path, entry, format);
      auto bad = verifier.Run([&](std::uint64_t bytes) {
        done.count += bytes;
        progress(done, entry.path);
      });
      if (bad) bad_files.push_back(std::move(*bad));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      bad_files.push_back({entry.path, {}, error.message()});
    }
  }
  return bad_files;
}

}  // namespace slipway::staging
