#include "core/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/lines.h"
#include "core/utf8_character.h"

namespace slipway {
namespace fs = std::filesystem;

template <class Visitor, MaybeConst<CheckpointFile> Struct>
void Visit(Visitor& visit, Struct& file) {
  visit("path", file.name);
  visit("bytes", file.bytes);
  visit("crc32c", file.crc32c);
}

template <class Visitor, MaybeConst<CheckpointManifest> Struct>
void Visit(Visitor& visit, Struct& manifest) {
  visit("step", manifest.info.step);
  visit("epoch", manifest.info.epoch);
  visit("world_size", manifest.info.world_size);
  visit("spec_hash", manifest.info.spec_hash);
  visit("seconds", manifest.info.seconds, Presence::kOptional);  // others write manifests, too
  visit("files", manifest.files);
}

namespace {

constexpr auto kManifest = "manifest.json";
constexpr auto kSchema = "slipway.checkpoint/1";
constexpr std::string_view kUnfinished = ".tmp-";

/// The step of "step-000000001234"; nothing for other names.
std::optional<std::uint64_t> StepOf(std::string_view name) {
  if (!name.starts_with("step-")) return {};
  return ParseNumber<std::uint64_t>(name.substr(5));
}

struct Contents {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

/// Size and CRC32C of a file, read in pieces: weights may be larger than memory.
Contents Measure(const fs::path& path, const std::function<void()>& on_piece = {}) {
  const auto fd = OpenFile(path, O_RDONLY);
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  Contents contents;
  ReadPieces(fd.get(), buffer, path, [&](std::span<const std::byte> piece) {
    contents.crc = Crc32c(piece, contents.crc);
    contents.bytes += piece.size();
    if (on_piece) on_piece();
  });
  return contents;
}

struct Tree {
  std::vector<fs::path> files;  // relative, sorted; without the manifest
  std::vector<fs::path> directories;
};

/// A manifest is JSON, which has no other names. Errors: Error.
void RequireUtf8(const fs::path& name) {
  if (IsUtf8(name.native())) return;
  throw Error(ErrorKind::kFailed, fmt::format("the name of file {} is not UTF-8", JsonText(name.native())),
              "give the file another name");
}

/// What lies below a checkpoint. Errors: Error for a link that leads out of it: the checkpoint would not be whole.
/// Error for a name that is not UTF-8.
Tree TreeOf(const fs::path& directory) {
  Tree tree;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const auto name = entry.path().lexically_relative(directory);
    if (entry.is_symlink() && !LiesWithin(entry.path(), directory)) {
      throw Error(ErrorKind::kFailed, fmt::format("'{}' is a link that leads out of the checkpoint", name.string()),
                  "copy the file into the checkpoint");
    }
    if (entry.is_regular_file() && name != kManifest) {
      RequireUtf8(name);
      tree.files.push_back(name);
    }
    if (entry.is_directory() && !entry.is_symlink()) tree.directories.push_back(entry.path());
  }
  std::sort(tree.files.begin(), tree.files.end());
  return tree;
}

Json MakeManifest(const fs::path& directory, const CheckpointInfo& info, std::optional<SteadyTime> begun) {
  const auto tree = TreeOf(directory);
  CheckpointManifest manifest{info, {}};
  for (const auto& name : tree.files) {
    SyncFile(directory / name);
    const auto contents = Measure(directory / name);
    manifest.files.push_back({name, contents.bytes, contents.crc});
  }
  for (const auto& path : tree.directories) SyncDirectory(path);
  if (begun) manifest.info.seconds = Seconds(SystemClock().Steady() - *begun).count();
  return WriteFields(kSchema, manifest);
}

bool FileMatches(const fs::path& directory, const CheckpointFile& file, const std::function<void()>& on_piece) {
  if (!IsRegularFile(directory / file.name)) return false;  // a pipe would be waited for
  const auto contents = Measure(directory / file.name, on_piece);
  return contents.bytes == file.bytes && contents.crc == file.crc32c;
}

bool IsInside(const fs::path& directory, const CheckpointFile& file) {
  return !file.name.is_absolute() && LiesWithin(directory / file.name, directory);
}

void RemoveUnfinished(const fs::path& checkpoints, const std::string& prefix) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints, error)) {
    if (entry.path().filename().string().starts_with(prefix)) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers) RemoveTree(path);
}

/// Puts `prepared` in the place of `published`; returns where the old one is now, under the name of an unfinished one.
fs::path Replace(const fs::path& prepared, const fs::path& published) {
  // One step, so that a sudden end leaves the old one or the new one.
  if (::renameat2(AT_FDCWD, prepared.c_str(), AT_FDCWD, published.c_str(), RENAME_EXCHANGE) == 0) return prepared;
  if (errno != EINVAL && errno != ENOSYS) ThrowErrno(fmt::format("cannot replace '{}'", published.string()));
  // File systems without exchange (NFS): between the two renames this step has no checkpoint.
  const auto old = published.parent_path() / fmt::format("{}old-{}", kUnfinished, published.filename().string());
  RemoveTree(old);
  fs::rename(published, old);
  fs::rename(prepared, published);
  return old;
}

}  // namespace

fs::path BeginCheckpoint(const fs::path& checkpoints, std::uint64_t step) {
  MakeDirectories(checkpoints);
  const auto prefix = fmt::format("{}{}-", kUnfinished, CheckpointName(step));
  RemoveUnfinished(checkpoints, prefix);
  const auto prepared = checkpoints / fmt::format("{}{}", prefix, ::getpid());
  MakeDirectories(prepared);
  return prepared;
}

fs::path CommitCheckpoint(const fs::path& prepared, const CheckpointInfo& info, std::optional<SteadyTime> begun) {
  if (!std::isfinite(info.epoch))
    throw Error(ErrorKind::kFailed, "the epoch of a checkpoint is not a finite number",
                "give a finite epoch with the checkpoint");
  WriteFileDurably(prepared / kManifest, MakeManifest(prepared, info, begun).dump(2) + "\n");
  const auto checkpoints = prepared.parent_path();
  const auto published = checkpoints / CheckpointName(info.step);
  if (fs::exists(published)) {
    const auto old = Replace(prepared, published);
    SyncDirectory(checkpoints);
    RemoveTree(old);
  } else {
    fs::rename(prepared, published);
    SyncDirectory(checkpoints);
  }
  return published;
}

CheckpointManifest LoadCheckpointManifest(const fs::path& directory) {
  const DocumentName name{fmt::format("'{}'", kManifest)};
  const auto text = ReadFileIfPresent(directory / kManifest);
  if (!text)
    throw Error(ErrorKind::kEnvironment, name.name + " is missing", "write it before the checkpoint gets its name");
  auto manifest = ReadFields<CheckpointManifest>(ParseDocument(*text, kSchema, name), name);
  manifest.info.directory = directory;
  for (const auto& file : manifest.files) {
    if (IsInside(directory, file)) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("{} lists '{}', which does not lie in the checkpoint", name.name, file.name.string()),
                "list files of the checkpoint only");
  }
  return manifest;
}

std::optional<CheckpointManifest> ReadCheckpointManifest(const fs::path& directory) try {
  return LoadCheckpointManifest(directory);
} catch (const Error&) {  // the manifest is damaged or unreadable
  return {};
}

std::optional<CheckpointInfo> ReadCheckpoint(const fs::path& directory, const std::function<void()>& on_piece) try {
  const auto manifest = ReadCheckpointManifest(directory);
  if (!manifest) return {};
  for (const auto& file : manifest->files) {
    if (!FileMatches(directory, file, on_piece)) return {};
  }
  return manifest->info;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  return {};  // a file of the manifest is missing or unreadable
}

std::string DamageOf(const fs::path& directory) try {
  for (const auto& file : LoadCheckpointManifest(directory).files) {
    if (!FileMatches(directory, file, {})) return fmt::format("'{}' is not as it was written", file.name.string());
  }
  return {};
} catch (const Error& error) {
  return error.message();
}

void RequireOwnVersion(const fs::path& directory) try {
  LoadCheckpointManifest(directory);
} catch (const OtherVersionError& error) {
  throw OtherVersionError(error.kind(), fmt::format("in the checkpoint '{}', {}", directory.string(), error.message()));
} catch (const Error&) {  // damaged: an older one counts
}

std::string CheckpointName(std::uint64_t step) { return fmt::format("step-{:012}", step); }

namespace {

/// What can be read of the directory.
std::vector<PublishedCheckpoint> CheckpointsIn(const fs::path& checkpoints, std::error_code& error) {
  std::vector<PublishedCheckpoint> found;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto step = StepOf(entry->path().filename().string())) found.push_back({*step, entry->path()});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return std::tie(a.step, a.directory) > std::tie(b.step, b.directory); });
  return found;
}

}  // namespace

std::vector<PublishedCheckpoint> PublishedCheckpoints(const fs::path& checkpoints) {
  std::error_code ignored;
  return CheckpointsIn(checkpoints, ignored);
}

std::vector<PublishedCheckpoint> AllPublishedCheckpoints(const fs::path& checkpoints) {
  std::error_code error;
  auto found = CheckpointsIn(checkpoints, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    throw SystemError(error.value(), "cannot read directory '" + checkpoints.string() + "'");
  }
  return found;
}

std::optional<CheckpointInfo> NewestCheckpoint(const fs::path& checkpoints) {
  return NewestCheckpointOfAll({checkpoints});
}

std::optional<CheckpointInfo> NewestCheckpointOfAll(const std::vector<fs::path>& folders) {
  std::vector<PublishedCheckpoint> all;
  for (const auto& folder : folders) {
    const auto more = PublishedCheckpoints(folder);
    all.insert(all.end(), more.begin(), more.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  for (const auto& published : all) {
    if (auto info = ReadCheckpoint(published.directory)) return info;
  }
  return {};
}

void PruneCheckpoints(const fs::path& checkpoints, int keep) {
  RemoveUnfinished(checkpoints, std::string(kUnfinished));
  int valid = 0;
  for (const auto& published : PublishedCheckpoints(checkpoints)) {
    if (valid >= std::max(keep, 1)) {
      RemoveTree(published.directory);
    } else if (ReadCheckpoint(published.directory)) {
      ++valid;
    }
  }
}

}  // namespace slipway
