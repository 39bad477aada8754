#include "staging/network/source_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "staging/copy/copy.h"
#include "staging/dataset/manifest.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> SourcePaths(const StagingPlan& plan) {
  std::vector<fs::path> paths;
  for (const auto& file : plan.files) paths.push_back(file.path);
  return paths;
}

std::vector<fs::path> StagedPaths(const StagingPlan& plan, const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& file : plan.files) paths.push_back(directory / file.name);
  return paths;
}

class PlannedSources : public FileReader {
 public:
  explicit PlannedSources(const StagingPlan& plan) : FileReader(SourcePaths(plan)), plan_(plan) {}

  // What is asked is the open file: another one may take its name at any time.
  std::int64_t Open(std::uint32_t file) override {
    FileReader::Open(file);
    const auto state = StatSettledSource(DescriptorOf(file)->get(), PathOf(file), [] {});
    CheckUnchanged(plan_.files[file], state);
    const std::lock_guard guard(mutex_);
    states_[file] = state;
    return state.ctime_ns;
  }

  /// A file that was cut short is a changed file first.
  void Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) override {
    try {
      FileReader::Read(file, offset, out);
    } catch (const SystemError&) {
      throw;
    } catch (const Error&) {
      CheckUnchanged(plan_.files[file], StateOf(file));
      throw;
    }
  }

  void Close(std::uint32_t file) override {
    const auto now = StateOf(file);
    FileReader::Close(file);
    const std::lock_guard guard(mutex_);
    if (states_.extract(file).mapped() == now) return;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", PathOf(file).string()),
                "start again when nothing writes to it any more");
  }

 private:
  SourceState StateOf(std::uint32_t file) { return StatSource(DescriptorOf(file)->get(), PathOf(file)); }

  const StagingPlan& plan_;
  std::mutex mutex_;
  std::map<std::uint32_t, SourceState> states_;
};

class StagedCopy : public FileReader {
 public:
  StagedCopy(const StagingPlan& plan, const fs::path& directory)
      : FileReader(StagedPaths(plan, directory)), manifest_(ParseManifest(ReadFile(directory / kManifestName))) {}

  std::int64_t Open(std::uint32_t file) override {
    FileReader::Open(file);
    return 0;
  }

  /// The manifest speaks of whole blocks, so a chunk's block is read whole before the first chunk of it goes out.
  void Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) override {
    if (offset % kCrcBlock == 0) CheckBlock(file, offset / kCrcBlock, out.size());
    FileReader::Read(file, offset, out);
  }

 private:
  void CheckBlock(std::uint32_t file, std::uint64_t block, std::size_t piece) {
    const auto& entry = manifest_.files.at(file);
    const auto begin = block * kCrcBlock;
    const auto size = std::min<std::uint64_t>(kCrcBlock, entry.bytes.count - begin);
    std::vector<std::byte> bytes(std::min<std::uint64_t>(piece, size));
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < size;) {
      const auto part = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), size - done));
      FileReader::Read(file, begin + done, part);
      crc = Crc32c(part, crc);
      done += part.size();
    }
    if (block < entry.crc32c.size() && crc == entry.crc32c[block]) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("the staged copy '{}' is damaged at byte {}: it differs from its manifest",
                            PathOf(file).string(), begin),
                "evict that copy and stage again; the medium of its tier is not to be trusted");
  }

  const Manifest manifest_;
};

}  // namespace

std::int64_t FileReader::Open(std::uint32_t file) {
  // O_NONBLOCK: a fifo that took the file's place must not hang the copy.
  auto fd = std::make_shared<UniqueFd>(OpenFile(PathOf(file), O_RDONLY | O_NONBLOCK));
  const std::lock_guard guard(mutex_);
  open_[file] = std::move(fd);
  return 0;
}

std::shared_ptr<UniqueFd> FileReader::DescriptorOf(std::uint32_t file) {
  const std::lock_guard guard(mutex_);
  return open_.at(file);
}

void FileReader::Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) {
  const auto fd = DescriptorOf(file);
  const auto read = TryReadAt(fd->get(), offset, out);
  if (read.bytes == out.size()) return;
  const auto end = offset + read.bytes;
  const auto path = PathOf(file).string();
  if (read.error != 0) throw SystemError(read.error, fmt::format("cannot read '{}' at byte {}", path, end));
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' ends at byte {}", path, end),
              "the file became shorter: start again when nothing writes to it any more");
}

void FileReader::Close(std::uint32_t file) {
  const std::lock_guard guard(mutex_);
  open_.erase(file);
}

std::unique_ptr<SourceReader> ReadSources(const StagingPlan& plan) { return std::make_unique<PlannedSources>(plan); }

std::unique_ptr<SourceReader> ReadStagedCopy(const StagingPlan& plan, const fs::path& directory) {
  return std::make_unique<StagedCopy>(plan, directory);
}

}  // namespace slipway::staging
