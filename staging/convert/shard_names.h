/// How the files of a converted set are called, and what must not lie beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/stream_check.h"

namespace slipway::staging {

struct ShardTarget {
  std::filesystem::path directory;
  std::string name;
};

/// `destination` is DIRECTORY/NAME, with or without a suffix of a format. A directory alone (it exists, or ends in '/')
/// means the name "train". Errors: Error(kUsage) when it is empty.
ShardTarget ShardTargetOf(const std::filesystem::path& destination);

/// ".tfrecord", ".h5", ".tar" or ".npz". Errors: Error(kInternal) for formats whose files Slipway does not write.
std::string_view SuffixOf(DataFormat format);

/// "NAME-00000-of-00004.tfrecord" and so on.
std::vector<std::string> ShardNames(const std::string& name, int shards, std::string_view suffix = ".tfrecord");

/// Errors: Error(kUsage) unless 1 <= shards <= records (and at most 99,999).
void CheckShardCount(int shards, std::uint64_t records);

/// NAME-* would match both sets, and every record would count twice.
/// Errors: Error(kUsage) naming a file of a set with the same name and another number of shards.
void RefuseAnotherSet(const ShardTarget& target, int shards);

/// The files that Convert and Reshard have written to `destination`: the set of shards; if there is none, NAME.h5. A
/// suffix of a format leaves the other formats out. Empty without any; a file that the set lacks is among them.
/// Errors: Error(kUsage): several sets.
std::vector<std::filesystem::path> FilesOfTarget(const std::filesystem::path& destination);

/// A file that replaces one of its source would leave a set that is half old and half new.
/// Errors: Error(kUsage) naming a file that `directory` would have under one of `names` and that is one of `source`.
void RefuseToReplace(const std::vector<std::filesystem::path>& source, const std::filesystem::path& directory,
                     const std::vector<std::string>& names);

}  // namespace slipway::staging
