#include "staging/convert/shard_names.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
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

/// Files of one name.
struct ShardSet {
  int shards = 0;
  std::string_view suffix;
  auto operator<=>(const ShardSet&) const = default;
};

/// That of "NAME-00001-of-00004.tfrecord" or another suffix; nothing for other files.
std::optional<ShardSet> SetOf(std::string_view file, std::string_view name) {
  constexpr std::string_view kShape = "-00000-of-00000";
  const auto suffix = std::ranges::find_if(kSuffixes, [&](auto known) { return file.ends_with(known); });
  if (suffix == kSuffixes.end()) return {};
  file.remove_suffix(suffix->size());
  if (file.size() != name.size() + kShape.size() || !file.starts_with(name)) return {};
  file.remove_prefix(name.size());
  const bool same_shape = std::ranges::equal(file, kShape, [](char found, char wanted) {
    return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
  });
  if (!same_shape) return {};
  ShardSet set{0, *suffix};
  std::from_chars(file.data() + 10, file.data() + 15, set.shards);
  return set;
}

/// The path says the format, or leaves it open.
bool MayHaveSuffix(const fs::path& destination, std::string_view suffix) {
  const auto extension = destination.extension();
  if (extension == ".hdf5") return suffix == ".h5";
  return extension == suffix || std::ranges::find(kSuffixes, extension) == kSuffixes.end();
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
    const auto set = SetOf(entry.path().filename().native(), target.name);
    if (!set || set->shards == shards) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' belongs to a set with another number of shards", entry.path().string()),
                "remove that set, or choose another name");
  }
}

std::vector<fs::path> FilesOfTarget(const fs::path& destination) {
  const auto target = ShardTargetOf(destination);
  if (!fs::is_directory(target.directory)) return {};
  std::set<ShardSet> sets;
  for (const auto& entry : fs::directory_iterator(target.directory)) {
    const auto set = SetOf(entry.path().filename().native(), target.name);
    if (set && MayHaveSuffix(destination, set->suffix)) sets.insert(*set);
  }
  if (sets.size() > 1) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is the name of several sets of files", destination.string()),
                fmt::format("name one by a pattern, such as '{}-*{}'", (target.directory / target.name).string(),
                            sets.begin()->suffix));
  }
  std::vector<fs::path> files;
  for (const auto& [shards, suffix] : sets) {
    for (const auto& name : ShardNames(target.name, shards, suffix)) files.push_back(target.directory / name);
  }
  const auto single = target.directory / (target.name + ".h5");
  if (files.empty() && MayHaveSuffix(destination, ".h5") && fs::exists(single)) files.push_back(single);
  return files;
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
