/// The experiment a user wrote, as typed values: one struct for each section of the spec.
///
/// The meaning, default and limits of each field are in the tables of launcher/spec/spec_table.cpp and
/// spec_table_ensemble.cpp. They also name its member here.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "core/words.h"
#include "ensemble/model/records.h"
#include "ensemble/schedulers/scheduler.h"
#include "ensemble/space/space.h"
#include "launcher/cluster/burst_buffer.h"
#include "launcher/ranks/local/choose_start.h"
#include "launcher/ranks/local/container_command.h"
#include "launcher/ranks/local/start_patience.h"
#include "launcher/spec/command_line.h"
#include "runtime/selection/gpu_exchange.h"
#include "staging/formats/stream_check.h"
#include "staging/plan/tier_places.h"
#include "staging/reader/sharding.h"

namespace slipway::launcher {

/// Names in the order of the file.
using NamedStrings = std::vector<std::pair<std::string, std::string>>;

/// The verification that a user asks for. `on_corrupt` decides whether damaged records are allowed.
enum class Verification { kOff, kFormat, kFull };
WordTable<Verification> WordsOf(Verification);
enum class Keep { kJob, kCache };
WordTable<Keep> WordsOf(Keep);

struct DatasetSpec {
  std::string name;                  ///< key under `data`: "train", "test"
  std::vector<std::string> sources;  ///< absolute; may be patterns with * ? [ ]
  staging::DataFormat format = staging::DataFormat::kTfrecord;
  std::vector<std::string> tiers;  ///< in order of preference, never empty; aliases are resolved, "dir:" is absolute
  staging::Distribution distribute = staging::Distribution::kReplicate;
  Verification verify = Verification::kFormat;
  Keep keep = Keep::kJob;
  Bytes bandwidth = {};  ///< bytes a second; 0: no limit
  bool overlap = false;
  std::uint64_t seed = 0;  ///< of the order in which it is read and staged
  staging::Remainder remainder = staging::Remainder::kDrop;
  staging::OnCorrupt on_corrupt = staging::OnCorrupt::kFail;
};

/// How long the nodes of a machine may take.
struct PatienceSpec {
  Seconds join{120};              ///< until the agents of all nodes of a job are connected
  Seconds start{kStartPatience};  ///< until all ranks of a start run
  Seconds silent_node{30};        ///< while the kernel of a silent node still answers; at least kShortestSilence
};
/// A node whose kernel answers nothing either is lost after this time.
inline constexpr std::chrono::seconds kShortestSilence{4};

/// The storage of a site, and its patience with nodes.
struct SiteSpec {
  std::vector<staging::TierDefinition> tiers;
  std::vector<std::string> tier_order;  ///< empty: not given
  Bytes bandwidth = {};                 ///< bytes a second for each dataset that has no limit of its own; 0: none
  NamedStrings aliases;                 ///< short names -> tiers
  PatienceSpec patience;
};

enum class EngineChoice { kAuto, kLocal, kSlurm };
WordTable<EngineChoice> WordsOf(EngineChoice);
/// Whether each rank has cores of its own.
enum class Bind { kAuto, kCores, kNone };
WordTable<Bind> WordsOf(Bind);

/// Which folder the ranks work in: one of the run's or trial's own, the spec's, or a given one.
enum class WorkdirKind { kOwn, kSpec, kPath };

struct WorkdirSpec {
  WorkdirKind kind = WorkdirKind::kOwn;
  std::string path = {};  ///< absolute, may hold `{slipway.NAME}`; only of kPath
};

struct BurstBufferSpec {
  BurstBufferKind type = BurstBufferKind::kNone;
  std::string pool;
  BufferAccess access = BufferAccess::kStriped;
  std::optional<Bytes> capacity;  ///< unset: the size of the staged data and `headroom`
  double headroom = 0.1;          ///< fraction of the staged data
  std::string persistent;         ///< empty: a buffer of the job
  PersistentAction action = PersistentAction::kUse;
  bool stage_in = true;    ///< by directives
  NamedStrings stage_out;  ///< folder of the buffer -> absolute path
};

struct SlurmSpec {
  std::string partition, account, constraint, qos, reservation, licenses;  ///< empty = not given
  std::string gpu_type;                                                    ///< empty: any
  std::optional<Bytes> memory_per_node;                                    ///< 0: all of it
  bool exclusive = false;
  bool requeue = true;
  Seconds signal_before{120};
  std::vector<std::string> extra;
  StartChoice start;  ///< of several ranks
  BurstBufferSpec burst_buffer;
};

struct ContainerSpec {
  std::string image;
  std::optional<ContainerRuntime> runtime;  ///< none: the first that is there and can open the image
  std::vector<std::string> binds;           ///< "/path" or "/path:/path/inside", beside those that every run has
  std::vector<std::string> options;         ///< of the runtime, as they are
};

struct LaunchSpec {
  EngineChoice engine = EngineChoice::kAuto;
  std::optional<Mpi> mpi;  ///< none: what mpirun is
  int nodes = 1;           ///< of the allocation
  int nodes_per_job = 1;   ///< of the ranks that belong together: all nodes, or those of one trial
  int ranks_per_node = 1;
  int cpus_per_rank = 1;
  int gpus_per_rank = 0;
  Bind bind = Bind::kAuto;
  std::optional<Bytes> memory_per_rank;
  std::optional<Seconds> time_limit;
  SlurmSpec slurm;
  std::vector<std::string> modules;
  NamedStrings env;
  WorkdirSpec workdir;
  std::vector<std::string> files;  ///< absolute; may be patterns: what the working directory has links to
  std::optional<ContainerSpec> container;

  /// The number of ranks that belong together.
  int ranks() const { return nodes_per_job * ranks_per_node; }
};

struct ValidationSpec {
  std::string from;  ///< name of a dataset
  double fraction = 0.1;
  std::uint64_t seed = 0;
};

enum class MetricsSource { kRuntime, kStdout };
WordTable<MetricsSource> WordsOf(MetricsSource);
struct MetricsSpec {
  MetricsSource from = MetricsSource::kRuntime;
  std::string pattern;  ///< PCRE2 with at least one named group, checked to compile; only for kStdout
  bool tensorboard = false;
};

struct TrainSpec {
  std::string program;               ///< a bundled trainer (libexec/slipway/trainers/NAME), or empty
  std::vector<std::string> command;  ///< any program with its arguments, or empty; exactly one of the two is given
  std::optional<ValidationSpec> validation;
  ProgramArguments args;           ///< the types of the values are kept
  std::vector<std::string> flags;  ///< names of arguments or parameters whose values are true or false
  MetricsSpec metrics;
};

enum class GradientMode { kSync, kDelayed };
WordTable<GradientMode> WordsOf(GradientMode);
enum class Compression { kNone, kBf16, kFp16 };
WordTable<Compression> WordsOf(Compression);
enum class Determinism { kOff, kOn, kCanonical };
using runtime::GpuExchange;

/// A number of steps, or a share of all of them.
struct StepCount {
  std::optional<std::int64_t> steps;
  std::optional<double> fraction;  ///< 0 to 1
};

struct GradientsSpec {
  GradientMode mode = GradientMode::kSync;
  int lag = 0;  ///< at least 1 when delayed
  StepCount sync_first;
  StepCount sync_last;
  int accumulate = 1;  ///< backward passes for one exchange
  Compression compress = Compression::kNone;
  std::optional<double> clip_norm;  ///< above 0
  bool check_finite = false;
  Determinism deterministic = Determinism::kOn;
  Bytes bucket{4 << 20};
  std::string network = "unknown";  ///< between nodes; what runtime::NetworkOf knows
  GpuExchange gpu_exchange = GpuExchange::kAuto;
  std::string algorithms;  ///< in the syntax of runtime::AlgorithmTable::With, checked; may be empty
};

struct TraceSpec {
  int every = 100;  ///< steps; 0: no lines
  bool chrome = false;
  int sums = 0;  ///< steps between check sums of the gradients; 0: none
};

/// What a run records of its code and its machine.
enum class Recorded { kFull, kNoDiff, kOff };
WordTable<Recorded> WordsOf(Recorded);

/// The settings of the MLPerf HPC log, beside recorded events.
struct MllogSpec {
  bool write = false;     ///< always true in a Spec
  std::string benchmark;  ///< never empty
  std::string org;
  std::string division;
  std::string status;
  std::string platform;  ///< empty: the host's name
  bool staging_included = false;
  std::optional<double> target;  ///< of eval_error at most this, of eval_accuracy at least
};

enum class OnTimeLimit { kStop, kRequeue };
WordTable<OnTimeLimit> WordsOf(OnTimeLimit);
enum class StopSignal { kNone, kUsr1, kTerm };
WordTable<StopSignal> WordsOf(StopSignal);

/// The checkpoint with this metric's best value stays beside the newest ones.
struct KeepBestSpec {
  std::string metric;
  ensemble::Goal goal = ensemble::Goal::kMinimize;
};

struct CheckpointSpec {
  std::optional<Seconds> every;  ///< unset: at the end of each epoch, or as the program decides
  int keep = 2;
  std::optional<KeepBestSpec> keep_best;
  std::vector<std::string> tiers;  ///< in order of preference, never empty
  std::optional<Bytes> bandwidth;  ///< a second, out of the tier
  OnTimeLimit on_time_limit = OnTimeLimit::kStop;
  StopSignal signal = StopSignal::kNone;
  std::optional<bool> stop_file;  ///< whether the program looks for it; unset: Spec::gets_time_to_save() decides
};

enum class OnNodeFailure { kFail, kExclude };
WordTable<OnNodeFailure> WordsOf(OnNodeFailure);

struct ResilienceSpec {
  int max_restarts = 0;
  OnNodeFailure on_node_failure = OnNodeFailure::kFail;
  int min_nodes = 1;
  int spare_nodes = 0;  ///< of the job, beyond launch.nodes: they replace lost nodes
  Seconds stall_after{60};
};

struct SchedulerSpec {
  std::string resource;
  ensemble::SchedulerSettings settings;  ///< without what follows from the rest of the ensemble
};

struct BudgetSpec {
  std::optional<Seconds> time;
  std::optional<double> node_hours;
};

struct SelectSpec {
  std::optional<int> top;             ///< unset: as many as the method usually takes
  std::string method;                 ///< a word of ensemble::SelectionMethod
  std::optional<std::string> metric;  ///< a word of ensemble::SelectionMetric; unset: what suits the targets
  std::string by = "trial";           ///< what a member is: "trial", "configuration"
};

enum class Placement { kAllocation, kJob };
WordTable<Placement> WordsOf(Placement);

struct EnsembleSpec {
  ensemble::Objective objective;
  std::vector<ensemble::Objective> more_objectives;  ///< `objectives`, beyond `objective`
  std::optional<int> trials;                         ///< unset only with the grid sampler: the whole grid
  std::optional<int> parallel;                       ///< unset: `auto`, as many as fit
  Placement placement = Placement::kAllocation;
  int nodes_per_trial = 1;
  std::string sampler;  ///< one of the words of the table: "auto", "grid", "random", ...
  std::optional<SchedulerSpec> scheduler;
  std::uint64_t seed = 0;
  std::optional<int> max_failures;    ///< unset: it fails only when no trial succeeds
  int stop_on_same_failure = 3;       ///< 0: never
  std::optional<Seconds> time_limit;  ///< of one trial
  int repeats = 1;
  std::optional<BudgetSpec> budget;
  std::vector<std::string> constraints;    ///< expressions over the parameters of `space`
  std::vector<ensemble::Parameter> space;  ///< in the order of the file; never empty
  std::vector<ensemble::Point> points;     ///< of the first trials; they may leave parameters out
  std::optional<SelectSpec> select;
};

/// What a notification is sent about.
enum class NotifyOn { kEnd, kFailure, kBest, kHang };
WordTable<NotifyOn> WordsOf(NotifyOn);

/// It may hold a secret. So messages, plans and reports show it by MaskedUrl (launcher/spec/secrets.h) only.
struct SecretUrl {
  std::string url;       ///< empty: it is the value of `variable`
  std::string variable;  ///< an environment variable of the manager
};

struct NotifySpec {
  std::vector<NotifyOn> on;          ///< never empty
  std::vector<std::string> command;  ///< empty: `webhook`
  std::optional<SecretUrl> webhook;
  std::string body;  ///< JSON with placeholders such as {run}; empty: the whole document
};

struct Spec {
  std::string name;
  std::string description;
  std::vector<std::string> tags;  ///< each as IsTag has it, none twice
  bool report = true;             ///< write report.html at the end
  Recorded provenance = Recorded::kFull;
  SiteSpec site;
  std::vector<DatasetSpec> data;
  LaunchSpec launch;
  TrainSpec train;
  GradientsSpec gradients;
  CheckpointSpec checkpoint;
  ResilienceSpec resilience;
  TraceSpec trace;
  std::optional<MllogSpec> mllog;
  std::optional<EnsembleSpec> ensemble;
  std::vector<NotifySpec> notify;

  /// The number of nodes that its job requests.
  int nodes_of_job() const { return launch.nodes + resilience.spare_nodes; }

  /// Whether a program that is to end may save before SIGTERM: a signal asks it to, or it looks for the stop file. A
  /// look leaves no trace, so it is assumed of programs that report their metrics through the runtime.
  bool gets_time_to_save() const {
    return checkpoint.signal != StopSignal::kNone ||
           checkpoint.stop_file.value_or(train.metrics.from == MetricsSource::kRuntime);
  }
};

/// Whether each trial of the run is its own job (`ensemble.placement: job`). The manager of such a run is in no job.
inline bool TrialsAreJobs(const Spec& spec) {
  return spec.ensemble && spec.ensemble->placement == Placement::kJob && spec.launch.engine == EngineChoice::kSlurm;
}

/// The nodes whose ranks one manager starts, without spare ones.
inline int NodesOfManager(const Spec& spec) {
  return TrialsAreJobs(spec) ? spec.launch.nodes_per_job : spec.launch.nodes;
}

}  // namespace slipway::launcher
