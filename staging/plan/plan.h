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
#include "staging/dataset/left_out.h"
#include "staging/dataset/verify_mode.h"
#include "staging/formats/stream_check.h"
#include "staging/plan/source_path.h"

namespace slipway::staging {

/// Which records a rank reads.
enum class Distribution {
  kReplicate,  ///< all of them
  kShard,      ///< its share; what its node holds is the planner's choice
  kNodeShard   ///< its share of what its node holds, and that is a share of the files
};
WordTable<Distribution> WordsOf(Distribution);

/// What each node of the job holds. The words stand in plans.
enum class Layout {
  kReplica,  ///< all files
  kShard,    ///< its share of the files
  kStream    ///< a window of the files: what was read goes when the next file needs its space
};
WordTable<Layout> WordsOf(Layout);

/// Who sees what is written to a tier.
enum class TierScope {
  kNode,  ///< each node its own: node-local disk, RAM, private burst buffers; every node stages
  kJob    ///< all nodes of the job the same: striped burst buffers, shared directories; one node stages
};
WordTable<TierScope> WordsOf(TierScope);

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

/// For whom a plan is made. All nodes of a job must plan from the same tiers: whoever plans for several gathers the
/// smallest free space and the generations that all of them have.
struct PlanRequest {
  int nodes = 1;
  int node = 0;             ///< from 0
  Bytes read_ahead = {};    ///< what the readers of a node keep in memory, which a tier in RAM must leave
  bool can_stream = false;  ///< whether the caller can carry out Layout::kStream
  bool can_share = true;    ///< whether the caller can carry out Layout::kShard on several nodes
};

/// What is known of a tier before anything is written to it.
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
  std::string origin = {};             ///< what said so: "built in", "DW_JOB_STRIPED", "/etc/slipway/site.yaml:5"
  std::optional<Bytes> capacity = {};  ///< the most that all generations there may take; `available` knows of it
  Bytes bandwidth = {};                ///< most bytes a second that are written to it; 0: no limit
  bool counts_as_memory = false;       ///< the site says so, whatever the file system is
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
  std::string shared_out = {};             ///< kShard: tells all the files that are shared out from others
  Bytes largest_share = {};                ///< kShard: what PlannedNeedOf says of the largest one, without read-ahead
  Bytes window = {};                       ///< kStream: bytes of files that may be there at a time
  std::vector<LeftOutFile> left_out = {};  ///< of the folders that the request names
};

/// What a generation takes from a tier besides luck: whole blocks, directories and the manifest included.
struct SpaceNeed {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
SpaceNeed NeedOf(const std::vector<SourceFile>& files);

/// What a tier must have free before files are planned into it: NeedOf, the read-ahead and 5 %. A file that is
/// copied again is written over: none needs its space twice.
SpaceNeed PlannedNeedOf(const std::vector<SourceFile>& files, Bytes read_ahead);

/// What lies at the sources of a dataset.
struct ListedSources {
  std::vector<SourceFile> files;      ///< sorted by name
  std::vector<LeftOutFile> left_out;  ///< of the folders among the sources; sorted by path
};

/// Looks at the sources (glob and stat).
///
/// Names:  a file or a pattern's match is called by its last component; files below a folder by their path in it. Bytes
///         that are no UTF-8 become "%XX".
/// Folder: what its files hold says which of them are of the format (folder.h); raw takes everything.
/// Links:  a file that the request names itself may be a link; found links must point to a file in the same tree.
/// Errors: Error(kEnvironment) naming the path: missing, no match, no file of the format, unreadable, a link that
///         dangles, loops, leaves the tree or leads to a directory, a fifo, socket or device, two files with the same
///         name.
ListedSources ListSources(const DatasetRequest& request);

/// The one format that all sources have: by their names, or else by what they hold. Nothing where the files have
/// several formats or none, and for a source that is not there. Errors: SystemError for what cannot be read.
std::optional<DataFormat> FormatOfSources(const std::vector<std::string>& sources);

/// Pure. Chooses layout and tier, in this order: a replica in the first tier that is usable and has the generation
/// already or has space for it; else a share for each node (when the request shares records out, and there are several
/// nodes); else a window (when the caller can stream). `none` ends the list: it takes what the tiers before it cannot.
///
/// Result: the same for the same arguments; more space in a tier never leads to a later tier or a poorer layout.
/// Errors: Error(kEnvironment) with the numbers of every tier when none fits, and for fewer files than nodes that are
/// to
///         have a share each; Error(kUsage) for a bad dataset name.
StagingPlan PlanStaging(const DatasetRequest& request, std::vector<SourceFile> files,
                        const std::vector<TierState>& tiers, const PlanRequest& for_whom = {});
/// The same, and the plan says what was left out.
StagingPlan PlanStaging(const DatasetRequest& request, ListedSources sources, const std::vector<TierState>& tiers,
                        const PlanRequest& for_whom = {});

/// The smallest and the largest share, as text: "1.20 to 1.31 GB (4 to 5 files) on each of 8 nodes".
std::string DescribeShares(const std::vector<NodeContent>& shares);

/// Without the list of its files.
Json SummaryOf(const StagingPlan& plan);
Json ToJson(const StagingPlan& plan);

}  // namespace slipway::staging
