/// Decides where a dataset is staged: which files, into which tier, under which generation name.
///
/// Words: a *tier* is a place for data (burst buffer, node-local disk, RAM, any directory, or `none` = read in place).
/// A *generation* is one staged state of a dataset: a directory that appears complete, by one rename, and never
/// changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/units.h"
#include "staging/dataset/verify_mode.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// Which records a rank sees. Every node holds all files in both cases; "node-shard" is a reserved word.
enum class Distribution { kShard, kReplicate };
std::string_view DistributionName(Distribution distribution);
std::optional<Distribution> ParseDistribution(std::string_view name);

struct SourceFile {
  std::filesystem::path path;  ///< absolute, where it is read
  std::filesystem::path name;  ///< relative, where it lies in the dataset; always valid UTF-8
  Bytes size;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
};

struct DatasetRequest {
  std::string name;                  ///< letters, digits, '_', '-', '.'; not starting with '.' or '-'
  std::vector<std::string> sources;  ///< each an absolute file, directory or glob pattern
  DataFormat format = DataFormat::kRaw;
  std::vector<std::string> tiers;  ///< in order of preference
  Distribution distribution = Distribution::kShard;
  VerifyMode verify = VerifyMode::kFormat;
};

/// What is known of a tier before anything is written to it.
struct TierState {
  std::string name;            ///< as the request names it: "ram", "dir:/scratch/me"
  std::filesystem::path root;  ///< holds the generations; empty for `none`
  Bytes available;
  std::uint64_t free_inodes = 0;
  bool usable = false;
  std::string reason;                    ///< why it cannot be used
  std::vector<std::string> generations;  ///< published there already
};

struct StagingPlan {
  DatasetRequest request;
  std::vector<SourceFile> files;
  Bytes total;
  std::string tier;
  std::filesystem::path root;         ///< empty for tier `none`
  std::string generation;             ///< dataset name, '-', 16 hex digits over request and files
  std::filesystem::path directory;    ///< root / generation; for tier `none` where the sources lie
  std::string reason;                 ///< why this tier
  std::vector<std::string> rejected;  ///< one line for each tier before it: "ram: needs 3.00 GB, 1.00 GB is free"
};

/// What a generation takes from a tier besides luck: whole blocks, directories and the manifest included.
struct SpaceNeed {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
SpaceNeed NeedOf(const std::vector<SourceFile>& files);

/// Looks at the sources (glob and stat) and returns their files sorted by name.
///
/// Names:  a file or a pattern's match is called by its last component; files below a directory by their path in it.
/// Bytes
///         that are no UTF-8 become "%XX". From a directory TFRecord takes names that hold ".tfrecord", HDF5 those that
///         end in .h5, .hdf5 or .hdf, hidden files excepted; raw takes everything.
/// Links:  a file that the request names itself may be a link; found links must point to a file in the same tree.
/// Errors: Error(kEnvironment) naming the path: missing, no match, unreadable, a link that dangles, loops, leaves the
/// tree
///         or leads to a directory, a fifo, socket or device, two files with the same name.
std::vector<SourceFile> ListSources(const DatasetRequest& request);

/// Pure. The first tier of the request that is usable and has the generation already or has room for it.
/// Errors: Error(kEnvironment) with the numbers of every tier when none fits; Error(kUsage) for a bad dataset name.
StagingPlan PlanStaging(const DatasetRequest& request, std::vector<SourceFile> files,
                        const std::vector<TierState>& tiers);

Json ToJson(const StagingPlan& plan);

}  // namespace slipway::staging
