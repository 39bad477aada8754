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
#include "core/words.h"
#include "staging/dataset/folder.h"
#include "staging/dataset/left_out.h"
#include "staging/dataset/verify_mode.h"
#include "staging/formats/stream_check.h"
#include "staging/plan/source_path.h"

namespace slipway::staging {

/// Which records a rank reads.
enum class Distribution {
  kReplicate,  ///< all of them
  kShard,      ///< its share; the planner chooses what its node holds
  kNodeShard   ///< its share of what its node holds; the node holds a share of the files
};
WordTable<Distribution> WordsOf(Distribution);

/// What each node of the job holds. The words are used in plans.
enum class Layout {
  kReplica,  ///< all files
  kShard,    ///< its share of the files
  kStream    ///< a window of the files: files already read are removed when space is needed
};
WordTable<Layout> WordsOf(Layout);

/// Which nodes see what is written to a tier.
enum class TierScope {
  kNode,  ///< each node its own: node-local disk, RAM, private burst buffers; every node stages
  kJob    ///< all nodes of the job the same: striped burst buffers, shared directories; one node stages
};
WordTable<TierScope> WordsOf(TierScope);

/// The tier that is no place: the sources are read where they lie.
inline constexpr const char* kInPlaceTier = "none";

struct SourceFile {
  SourcePath path;  ///< absolute, where it is read
  PathText name;    ///< relative, where it lies in the dataset; always valid UTF-8
  Bytes size;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  std::optional<std::uint64_t> records = {};  ///< where a manifest beside the file says it
};

struct DatasetRequest {
  std::string name;                  ///< letters, digits, '_', '-', '.'; not starting with '.' or '-'
  std::vector<std::string> sources;  ///< each an absolute file, directory or glob pattern
  DataFormat format = DataFormat::kRaw;
  std::vector<std::string> tiers;  ///< in order of preference
  Distribution distribution = Distribution::kShard;
  VerifyMode verify = VerifyMode::kFormat;
  Bytes bandwidth = {};  ///< most bytes a second that are read from the sources; 0: no limit
};

/// The job that a plan is made for. All nodes of a job must plan from the same tiers: with the smallest free space of
/// any node, and the generations that all of them have.
struct PlanRequest {
  int nodes = 1;
  int node = 0;             ///< from 0
  Bytes read_ahead = {};    ///< memory that the readers of a node need; a tier in RAM must leave it free
  bool can_stream = false;  ///< whether the caller can carry out Layout::kStream
  bool can_share = true;    ///< whether the caller can carry out Layout::kShard on several nodes
};

/// The state of a tier before anything is written to it.
struct TierState {
  std::string name;            ///< as the request names it: "ram", "dir:/scratch/me"
  std::filesystem::path root;  ///< holds the generations; empty for `none`
  Bytes available;
  std::uint64_t free_inodes = 0;
  bool usable = false;
  std::string reason;                          ///< why it cannot be used
  std::vector<std::string> generations;        ///< published there already
  std::vector<std::string> being_staged = {};  ///< by another process at this moment
  TierScope scope = TierScope::kNode;
  std::string origin = {};             ///< defined by: "built in", "DW_JOB_STRIPED", "/etc/slipway/site.yaml:5"
  std::optional<Bytes> capacity = {};  ///< the most that all generations there may take; limits `available`
  Bytes bandwidth = {};                ///< most bytes a second that are written to it; 0: no limit
  bool counts_as_memory = false;       ///< set by the site, whatever the file system is
};

/// What one node of a job holds.
struct NodeContent {
  Bytes bytes;
  std::size_t files = 0;
  std::optional<std::uint64_t> records;  ///< nothing when one file has no count
};

struct StagingPlan {
  DatasetRequest request;
  std::vector<SourceFile> files;  ///< those that this node will hold
  Bytes total;                    ///< of these files
  std::string tier;
  std::filesystem::path root;         ///< empty for tier `none`
  std::string generation;             ///< dataset name, '-', 16 hex digits over request and files
  std::filesystem::path directory;    ///< root / generation; for tier `none` where the sources lie
  std::string reason;                 ///< why this tier and this layout
  std::vector<std::string> rejected;  ///< one line for each that was tried before: "ram: needs 3 GB, 1 GB is free"
  Layout layout = Layout::kReplica;
  TierScope scope = TierScope::kNode;
  std::string origin = {};  ///< of the tier, as in TierState
  std::optional<Bytes> capacity = {};
  bool counts_as_memory = false;  ///< of the tier, as in TierState
  Bytes bandwidth = {};           ///< the tighter of the request's and the tier's limit; 0: none
  int nodes = 1;
  int node = 0;
  bool stages_here = true;                 ///< false: another node stages into the same place, this one adopts
  std::vector<NodeContent> shares = {};    ///< kShard: one for each node
  std::string shared_out = {};             ///< kShard: a key for the whole list of files that are shared out
  Bytes largest_share = {};                ///< kShard: what PlannedNeedOf says of the largest one, without read-ahead
  Bytes window = {};                       ///< kStream: bytes of files that may be there at a time
  std::vector<LeftOutFile> left_out = {};  ///< of the folders that the request names
};

inline bool ReadsInPlace(const StagingPlan& plan) { return plan.tier == kInPlaceTier; }

/// What a generation takes from a tier besides luck: whole blocks, directories and the manifest included.
struct SpaceNeed {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
SpaceNeed NeedOf(const std::vector<SourceFile>& files);

/// The space that a tier must have free before files are planned into it: NeedOf, the read-ahead and 5 %. A file that
/// is copied again is overwritten, so it never needs its space twice.
SpaceNeed PlannedNeedOf(const std::vector<SourceFile>& files, Bytes read_ahead);

/// The sources of a dataset, listed.
struct ListedSources {
  std::vector<SourceFile> files;      ///< sorted by name
  std::vector<LeftOutFile> left_out;  ///< of the folders among the sources; sorted by path
};

/// Lists the sources (glob and stat).
///
/// Names:  files below a folder are named by their path in it; other files and matches of a pattern by their last
///         component. Bytes that are not UTF-8 become "%XX".
/// Folder: the content of its files says which of them are of the format (folder.h); raw takes everything.
/// Links:  a file that the request names itself may be a link; found links must point to a file in the same tree.
/// Errors: Error(kEnvironment) naming the path: missing, no match, no file of the format, unreadable. Also a link that
///         dangles, loops, leaves the tree or leads to a directory; a fifo, socket or device; two files with the same
///         name.
ListedSources ListSources(const DatasetRequest& request);

/// What the files of a dataset have in common.
struct SourceFormats {
  std::vector<HeldFormat> held;  ///< each format once
  bool is_complete = true;       ///< every source is there and has data
  bool is_missing = false;       ///< nothing is at some source, whose name tells no format

  /// The one format that all sources have.
  std::optional<DataFormat> One() const;
  /// For a message, when there is not one.
  std::string WhyNotOne() const;
};

/// By the names of the sources, or else by what they hold. Errors: SystemError for what cannot be read.
SourceFormats FormatsOfSources(const std::vector<std::string>& sources);

/// Chooses layout and tier, in this order. Pure.
/// - A replica, in the first usable tier that has the generation already or has space for it.
/// - A share for each node, when the request shares records out and there are several nodes.
/// - A window, when the caller can stream.
///
/// `none` ends the list: it takes what the tiers before it cannot.
///
/// Result: the same for the same arguments; more space in a tier never leads to a later tier or a poorer layout.
/// Errors: Error(kEnvironment) with the numbers of every tier when none fits, or when there are fewer files than nodes
///         that need a share. Error(kUsage) for a bad dataset name.
StagingPlan PlanStaging(const DatasetRequest& request, std::vector<SourceFile> files,
                        const std::vector<TierState>& tiers, const PlanRequest& for_whom = {});
/// The same; the plan also lists what was left out.
StagingPlan PlanStaging(const DatasetRequest& request, ListedSources sources, const std::vector<TierState>& tiers,
                        const PlanRequest& for_whom = {});

/// The smallest and the largest share, as text: "1.20 to 1.31 GB (4 to 5 files) on each of 8 nodes".
std::string DescribeShares(const std::vector<NodeContent>& shares);

/// Without the list of its files.
Json SummaryOf(const StagingPlan& plan);
Json ToJson(const StagingPlan& plan);
/// The list of its files for readers that begin before all are there, as WriteListing takes it.
std::string RenderListingOf(const StagingPlan& plan);

}  // namespace slipway::staging
