#include "staging/convert/shard_names.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

constexpr auto kDefaultName = "train";
constexpr int kMostShards = 99999;  // five digits in the name

constexpr std::array<std::string_view, 5> kSuffixes = {".tfrecord", ".h5", ".tar", ".npz", ".npy"};

/// "NAME-00001-of-00004.tfrecord" or another suffix, of another number of shards than `shards`.
bool IsOfAnotherSet(std::string_view file, std::string_view name, int shards) {
  constexpr std::string_view kShape = "-00000-of-00000";
  const auto suffix = std::ranges::find_if(kSuffixes, [&](auto known) { return file.ends_with(known); });
  if (suffix == kSuffixes.end()) return false;
  file.remove_suffix(suffix->size());
  if (file.size() != name.size() + kShape.size() || !file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  const bool same_shape = std::ranges::equal(file, kShape, [](char found, char wanted) {
    return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
  });
  return same_shape && file.substr(10, 5) != fmt::format("{:05}", shards);
}

using FileIdentity = std::pair<dev_t, ino_t>;

/// Nothing for a file that is not there.
std::optional<FileIdentity> IdentityOf(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return FileIdentity{info.st_dev, info.st_ino};
}

}  // namespace

ShardTarget ShardTargetOf(const fs::path& destination) {
  if (destination.empty())
    throw Error(ErrorKind::kUsage, "the converted files need a destination",
                "name a file or directory, such as data/photos/train");
  if (!destination.has_filename()) return {destination.parent_path(), kDefaultName};
  if (fs::is_directory(destination)) return {destination, kDefaultName};
  const auto extension = destination.extension();
  const bool known = std::ranges::find(kSuffixes, extension) != kSuffixes.end() || extension == ".hdf5";
  auto directory = destination.has_parent_path() ? destination.parent_path() : fs::path(".");
  return {std::move(directory), (known ? destination.stem() : destination.filename()).string()};
}

std::string_view SuffixOf(DataFormat format) {
  switch (format) {
    case DataFormat::kTfrecord: return ".tfrecord";
    case DataFormat::kHdf5: return ".h5";
    case DataFormat::kWebdataset: return ".tar";
    case DataFormat::kNumpy: return ".npz";
    default: throw Error(ErrorKind::kInternal, fmt::format("no files of {} are written", WordOf(format)));
  }
}

std::vector<std::string> ShardNames(const std::string& name, int shards, std::string_view suffix) {
  std::vector<std::string> names;
  for (int shard = 0; shard < shards; ++shard) {
    names.push_back(fmt::format("{}-{:05}-of-{:05}{}", name, shard, shards, suffix));
  }
  return names;
}

void CheckShardCount(int shards, std::uint64_t records) {
  if (shards >= 1 && shards <= kMostShards && static_cast<std::uint64_t>(shards) <= records) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("cannot make {} shards of {} records: expected 1 to {}", shards, records,
                          std::min<std::uint64_t>(records, kMostShards)),
              "change --shards");
}

void RefuseAnotherSet(const ShardTarget& target, int shards) {
  if (!fs::is_directory(target.directory)) return;
  for (const auto& entry : fs::directory_iterator(target.directory)) {
    if (!IsOfAnotherSet(entry.path().filename().string(), target.name, shards)) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' belongs to a set with another number of shards", entry.path().string()),
                "remove that set, or choose another name");
  }
}

void RefuseToReplace(const std::vector<fs::path>& source, const fs::path& directory,
                     const std::vector<std::string>& names) {
  std::set<FileIdentity> own;
  for (const auto& path : source) {
    if (const auto file = IdentityOf(path)) own.insert(*file);
  }
  for (const auto& name : names) {
    const auto file = IdentityOf(directory / name);
    if (!file || !own.contains(*file)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is a file of the source", (directory / name).string()),
                "write into another directory");
  }
}

}  // namespace slipway::staging
