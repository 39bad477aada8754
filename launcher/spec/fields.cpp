#include "launcher/spec/fields.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/nearest_word.h"
#include "ensemble/analysis/scoring.h"
#include "ensemble/analysis/selection.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/schedulers/scheduler.h"
#include "launcher/ranks/local/container_command.h"

namespace slipway::launcher {
namespace {

constexpr double kWidest = std::numeric_limits<double>::infinity();

using type::Between;
using type::Integer;
using type::ListOf;
using type::MapOf;
using type::Number;
using type::Of;
using type::OneOf;
using type::Positive;
using type::Section;
using type::Seed;
using type::Words;
using enum TypeKind;
using enum Presence;

void Append(std::vector<Field>& all, std::vector<Field> some) {
  for (Field& field : some) all.push_back(std::move(field));
}

std::vector<Field> HeadFields() {
  return {
      {"name", Of(kName), "", "Name of the experiment; its run folders begin with it.", "fashion", Since::kNow,
       Need::kRequired},
      {"description", Of(kText), "\"\"", "What the experiment is for, for people.", "Baseline of the paper"},
      {"tiers", MapOf(Of(kTier)), "{}", "Short names for storage tiers; mostly set once for a site.",
       "{scratch: \"dir:/scratch/me\"}"},
  };
}

std::vector<Field> SiteFields() {
  const Type tiers = OneOf({Of(kTier), ListOf(Of(kTier))});
  return {
      {"site", Section(), "", "The storage tiers of a machine; mostly set once, in its settings file.", ""},
      {"site.tier_order", tiers, "", "Where datasets are staged that name no tier, in order of preference.",
       "[burst, node, ram, none]"},
      {"site.bandwidth", Of(kBytes), "", "Most bytes a second that a node reads from the sources.", "2GB"},
      {"site.tiers", Section(), "", "The tiers by name: new ones, or burst, node and ram as they are here.", ""},
      {"site.tiers.*", Section(), "", "One tier; its name is made of small letters, digits and '_'.", ""},
      {"site.tiers.*.path", Of(kTierPath), "",
       "Its directory; a ${NAME} in it is a variable of the job, looked up when data is staged.",
       "${LOCAL_SCRATCH}/slipway"},
      {"site.tiers.*.kind", Words({"disk", "ram", "burst"}), "disk", "What it is; ram counts against memory.", "disk"},
      {"site.tiers.*.scope", Words({"node", "job"}), "",
       "Whether each node has its own or all nodes of a job see the same; left out: what the file system says.",
       "node"},
      {"site.tiers.*.capacity", Of(kBytes), "", "The most that a user's staged data may take there.", "800GB"},
      {"site.tiers.*.bandwidth", Of(kBytes), "", "Most bytes a second that a node writes to it.", "1GB"},
  };
}

std::vector<Field> DataFields() {
  const Type tiers = OneOf({Of(kTier), ListOf(Of(kTier))});
  const Type paths = OneOf({Of(kPath), ListOf(Of(kPath))});
  return {
      {"data", Section(), "", "The datasets. A rank finds the staged files of NAME in SLIPWAY_DATA_NAME.", ""},
      {"data.*", Section(), "", "One dataset; its name is made of small letters, digits and '_'.", ""},
      {"data.*.source", paths, "", "Files or folders of the dataset; patterns with * ? [ ] are allowed.",
       "../data/train-*.tfrecord", Since::kNow, Need::kRequired},
      {"data.*.format", Words({"auto", "tfrecord", "hdf5", "raw"}), "auto",
       "Format of the files; auto: what their names say, or else what they hold; raw: any files, copied and summed.",
       "tfrecord"},
      {"data.*.tier", tiers, "[\"ram\", \"node\", \"none\"]",
       "Where to stage it, in order of preference; none reads it where it lies.", "[burst, node, ram, none]"},
      {"data.*.distribute", Words({"replicate", "shard", "node-shard"}), "replicate",
       "Whether every rank reads all records or its own share; node-shard: and each node holds only its share.",
       "shard"},
      {"data.*.verify", Words({"off", "format", "full"}), "format",
       "How staged files are checked: not, while they are copied, or by reading the copy again.", "format"},
      {"data.*.keep", Words({"job", "cache"}), "job",
       "Whether the staged copy ends with the job or stays for the next one.", "job"},
      {"data.*.bandwidth", Of(kBytes), "", "Most bytes a second that a node reads from the sources.", "500MB"},
      {"data.*.overlap", Of(kBool), "false",
       "Start the ranks when the first file has arrived, in the order in which they are read.", "true"},
      {"data.*.seed", Seed(), "0", "Chooses the order in which records are read, and files arrive.", "1"},
      {"data.*.remainder", Words({"drop", "repeat", "pad"}), "drop",
       "What becomes of records that cannot be shared out evenly to the ranks.", "repeat"},
      {"data.*.on_corrupt", Words({"fail", "skip"}), "fail",
       "What the reader does with a damaged record: end the run, or leave it out and count it.", "skip"},
  };
}

std::vector<std::string> RuntimeWords() {
  std::vector<std::string> words{"auto"};
  for (const auto runtime : kContainerRuntimes) words.emplace_back(NameOf(runtime));
  return words;
}

std::vector<Field> LaunchFields() {
  return {
      {"launch", Section(), "", "Where and how the ranks start.", ""},
      {"launch.engine", Words({"auto", "local", "slurm"}), "auto",
       "Who starts the ranks: this machine or Slurm; auto is slurm inside an allocation or where a slurm.conf is "
       "found.",
       "local"},
      {"launch.mpi", Words({"auto", "openmpi", "mpich"}), "auto",
       "The MPI that starts several ranks, and whose libslipway they get; auto takes what `mpirun` is.", "mpich"},
      {"launch.nodes", Integer(1), "1", "Number of nodes.", "4"},
      {"launch.ranks_per_node", Integer(1), "1", "Training ranks on each node.", "2"},
      {"launch.cpus_per_rank", Integer(1), "1", "Processor cores for each rank.", "8"},
      {"launch.gpus_per_rank", Integer(0), "0",
       "GPUs for each rank, which sees no others; trials that run at a time never share one.", "1"},
      {"launch.bind", Words({"auto", "cores", "none"}), "auto",
       "Whether each of several ranks of a node has cores, and GPUs, of its own; auto: under Slurm, where no other job "
       "runs on them.",
       "cores"},
      {"launch.memory_per_rank", Of(kBytes), "", "Main memory for each rank.", "16 GiB", Since::kWithSlurm},
      {"launch.time_limit", Of(kDuration), "", "Longest time one attempt may take.", "20m"},
      {"launch.modules", ListOf(Of(kText)), "[]", "Environment modules to load.", "[pytorch/2.1]", Since::kWithSlurm},
      {"launch.env", MapOf(Of(kText)), "{}", "Environment variables of the ranks.", "{OMP_NUM_THREADS: \"1\"}"},
      {"launch.workdir", OneOf({Words({"own", "spec"}), Of(kPath)}), "own",
       "Folder that the ranks work in: own, one for each run and trial; spec, that of the spec; or a path.",
       "\"/scratch/me/{slipway.trial}\""},
      {"launch.files", ListOf(Of(kPath)), "[]",
       "Files and folders beside the spec that programs find in their working directory, as links; patterns with * ? "
       "[ ] are allowed.",
       "[conf, \"*.json\"]"},
      {"launch.container", Section(kOptional), "", "Container the ranks run in.", ""},
      {"launch.container.image", Of(kText), "",
       "Image: a file, a directory, or a reference that the runtime knows; a relative path starts at the spec's "
       "folder.",
       "docker://pytorch/pytorch:2.1", Since::kNow, Need::kRequired},
      {"launch.container.runtime", Words(RuntimeWords()), "auto",
       "Program that runs containers; auto takes the first that is there and can open the image.", "apptainer"},
      {"launch.container.binds", ListOf(Of(kText)), "[]",
       "Directories of the machine that programs see in the container, as PATH or PATH:INSIDE, beside runs, data and "
       "Slipway.",
       "[/opt/site]"},
      {"launch.container.options", ListOf(Of(kText)), "[]", "Further options of the runtime, as they are.",
       "[\"--nv\"]"},
  };
}

std::vector<Field> SlurmFields() {
  return {
      {"launch.slurm", Section(), "", "What the Slurm engine asks for.", ""},
      {"launch.slurm.partition", Of(kText), "", "Partition, or several with commas.", "debug"},
      {"launch.slurm.account", Of(kText), "", "Account to charge.", "m1234"},
      {"launch.slurm.constraint", Of(kText), "", "Node features.", "knl"},
      {"launch.slurm.qos", Of(kText), "", "Quality of service.", "regular"},
      {"launch.slurm.reservation", Of(kText), "", "Reservation.", "training"},
      {"launch.slurm.licenses", Of(kText), "", "Licenses.", "scratch:2"},
      {"launch.slurm.memory_per_node", OneOf({Of(kBytes), Words({"all"})}), "",
       "Main memory on each node; left out: that of its ranks and of what is staged in RAM.", "120 GiB"},
      {"launch.slurm.exclusive", Of(kBool), "false", "No other job on the same nodes.", "true"},
      {"launch.slurm.requeue", Of(kBool), "true",
       "Whether Slurm puts the job back into the queue after preemption or the loss of a node.", "false"},
      {"launch.slurm.signal_before", Of(kDuration), "120s",
       "Time before the end that the ranks are given to save, or more where their checkpoints take longer; one minute "
       "more is asked for, since Slurm looks at the clock every half minute.",
       "5m"},
      {"launch.slurm.start", Words({"auto", "mpirun", "pmix", "pmi2"}), "auto",
       "What starts several ranks: mpirun, `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH); auto: mpirun "
       "where "
       "there is one, else what srun offers.",
       "pmix"},
      {"launch.slurm.extra", ListOf(Of(kText)), "[]", "Further options of sbatch.", "[\"--exclude=n[1-3]\"]"},
      {"launch.slurm.burst_buffer", Section(), "", "Where the tier `burst` comes from; mostly set once for a site.",
       ""},
      {"launch.slurm.burst_buffer.type", Words({"none", "datawarp", "dws", "lua"}), "none",
       "Directives that the site understands: `#DW` of DataWarp, `#DW` of HPE's DWS, `#BB_LUA`, or none.", "datawarp"},
      {"launch.slurm.burst_buffer.pool", Of(kText), "", "Pool to take it from; for dws the profile.", "wlm_pool"},
      {"launch.slurm.burst_buffer.access", Words({"striped", "private"}), "striped",
       "Whether all nodes see the same, or each its own, into which the system stages nothing.", "striped"},
      {"launch.slurm.burst_buffer.capacity", Of(kBytes), "",
       "Its size, all nodes together; left out: what is staged there and `headroom`.", "2 TiB"},
      {"launch.slurm.burst_buffer.headroom", Of(kShare), "10%", "Room beyond what is staged there.", "25%"},
      {"launch.slurm.burst_buffer.persistent", Of(kName), "", "Name of a buffer that outlives the job.", "cosmo"},
      {"launch.slurm.burst_buffer.action", Words({"use", "create", "destroy"}), "use",
       "What the job does with a persistent one; what is created is used as well.", "create"},
      {"launch.slurm.burst_buffer.stage_in", Of(kBool), "true",
       "Datasets of the tier `burst` are brought by directives before the job starts, or else by the job.", "false"},
      {"launch.slurm.burst_buffer.stage_out", MapOf(Of(kPath)), "{}",
       "Folders of the buffer that the system copies out when the job has ended: name -> where to.",
       "{plots: /project/me/plots}"},
  };
}

std::vector<Field> TrainFields() {
  return {
      {"train", Section(), "", "The training program: either `program` or `command`.", ""},
      {"train.program", Of(kText), "", "A bundled trainer.", "fashion"},
      {"train.command", ListOf(Of(kText)), "",
       "Any program with its arguments; {NAME} stands for an argument's value, {{NAME}} for itself, {slipway.workdir} "
       "and the like for what the run knows. Without any {NAME} of an argument they follow as --NAME VALUE. No shell "
       "is "
       "involved.",
       "[python3, train.py, \"--lr={lr}\"]"},
      {"train.validation", Section(kOptional), "",
       "Records set aside to select on, split off by record; left out, bundled trainers take a tenth of 'train'.", ""},
      {"train.validation.from", Of(kText), "", "Dataset to take them from.", "train", Since::kNow, Need::kRequired},
      {"train.validation.fraction", Number(0, 1), "0.1", "Share of the records, below 1; 0: all are trained on.",
       "0.1"},
      {"train.validation.seed", Seed(), "0", "Chooses which records.", "1"},
      {"train.args", MapOf(Of(kScalar)), "{}",
       "Arguments of the program. batch_size counts per rank, global_batch_size over all ranks.",
       "{epochs: 3, batch_size: 64, lr: 0.01}"},
      {"train.metrics", Section(), "", "Where the program's metrics come from.", ""},
      {"train.metrics.from", Words({"runtime", "stdout"}), "runtime",
       "Reported through the runtime or SLIPWAY_METRICS, or found in the output.", "stdout"},
      {"train.metrics.pattern", Of(kText), "", "PCRE2 pattern for a line of the output; its named groups are metrics.",
       "'FoM: (?<objective>\\S+)'"},
  };
}

std::vector<Field> GradientFields() {
  const Type steps = OneOf({Of(kShare), Integer(0)});
  return {
      {"gradients", Section(), "", "How ranks exchange gradients.", ""},
      {"gradients.mode", Words({"sync", "delayed"}), "sync",
       "Wait for the exchange in each step, or apply it `lag` steps later.", "sync"},
      {"gradients.lag", Integer(1, 64), "", "Steps between computing and applying; only with mode: delayed.", "1"},
      {"gradients.sync_first", steps, "0", "Steps (or percent of all) at the start that are synchronous.", "10%"},
      {"gradients.sync_last", steps, "0", "Steps (or percent of all) at the end that are synchronous.", "0"},
      {"gradients.accumulate", Integer(1), "1", "Backward passes of a rank that are added up for one exchange.", "4"},
      {"gradients.teams", Integer(1), "1", "Independent sets of tensors; the program registers them by name.", "1",
       Since::kPlanned},
      {"gradients.compress", Words({"none", "bf16", "fp16"}), "none", "Number format on the wire.", "bf16"},
      {"gradients.clip_norm", Positive(), "", "Largest norm of all gradients together; larger ones are scaled down.",
       "1.0"},
      {"gradients.check_finite", Of(kBool), "false",
       "End the run when a gradient is NaN or infinite, naming the tensor and the rank.", "true"},
      {"gradients.deterministic", OneOf({Of(kBool), Words({"canonical"})}), "true",
       "The same bits in every run; canonical: whatever the placement.", "true"},
      {"gradients.bucket", Of(kBytes), "4MiB", "Small tensors travel together until they fill so much.", "1MiB"},
      {"gradients.network", Words({"unknown", "dragonfly", "fat_tree"}), "unknown",
       "How the nodes are connected, which decides on the allreduce; a word for a machine's settings file.",
       "dragonfly"},
      {"gradients.algorithms", Of(kText), "\"\"",
       "Which allreduce for which sizes of message, instead of the ones that `slipway plan` shows.",
       "recursive_doubling:0-8192;ring:8193-max"},
  };
}

std::vector<Field> SafetyFields() {
  const Type tiers = OneOf({Of(kTier), ListOf(Of(kTier))});
  return {
      {"checkpoint", Section(), "", "When the state of training is saved.", ""},
      {"checkpoint.every", Of(kDuration), "", "Time between checkpoints; left out: after each epoch.", "5m"},
      {"checkpoint.keep", Integer(1), "2", "Valid checkpoints to keep.", "2"},
      {"checkpoint.tier", tiers, "[\"none\"]",
       "Where the program writes checkpoints and results, in order of preference; they are copied to the run folder "
       "while it goes on. none: straight into the run folder.",
       "[burst, node, none]"},
      {"checkpoint.bandwidth", Of(kBytes), "",
       "Most bytes a second that copying out of the tier may take; 0: no limit.", "200MB"},
      {"checkpoint.on_time_limit", Words({"stop", "requeue"}), "stop", "What follows when the time is over.",
       "requeue"},
      {"checkpoint.signal", Words({"none", "USR1", "TERM"}), "none",
       "Signal that asks a program to save and end, beside its stop file. It has 10 seconds then; before a time limit "
       "of "
       "Slurm launch.slurm.signal_before.",
       "USR1"},
      {"resilience", Section(), "", "What happens when something goes wrong.", ""},
      {"resilience.max_restarts", Integer(0), "0",
       "Restarts from the last checkpoint; for an ensemble, retries of each trial.", "3"},
      {"resilience.on_node_failure", Words({"fail", "exclude"}), "fail",
       "Go on without a lost node, or not; where a run cannot go on, launch.slurm.requeue queues its job again. Trials "
       "always go on.",
       "exclude"},
      {"resilience.min_nodes", Integer(1), "1", "Fewest nodes to go on with.", "1"},
      {"resilience.spare_nodes", Integer(0), "0",
       "Nodes that the job asks for beside launch.nodes; they take the place of lost ones.", "1", Since::kWithSlurm},
      {"resilience.stall_after", Of(kDuration), "60s",
       "Time without progress after which a rank counts as stuck, in programs that use libslipway. Others that hang "
       "are "
       "ended by launch.time_limit.",
       "60s"},
      {"trace", Section(), "", "What the runtime tells of the time that each step takes.", ""},
      {"trace.every", Integer(0), "100", "Steps between two lines of it; 0: none.", "10"},
      {"trace.chrome", Of(kBool), "false", "Also write trace.json, for Perfetto and the trace viewer of Chrome.",
       "true"},
  };
}

std::vector<Field> MllogFields() {
  return {
      {"mllog", Section(), "", "A log as MLPerf HPC has it.", ""},
      {"mllog.write", Of(kBool), "false", "Write mllog.txt, for the run or for each trial.", "true"},
      {"mllog.benchmark", Of(kText), "", "submission_benchmark; left out: `train.program`, else the name.",
       "cosmoflow"},
      {"mllog.org", Of(kText), "unnamed", "submission_org.", "NERSC"},
      {"mllog.division", Words({"closed", "open"}), "open", "submission_division.", "closed"},
      {"mllog.status", Words({"cloud", "onprem", "preview", "research"}), "research", "submission_status.", "onprem"},
      {"mllog.platform", Of(kText), "", "submission_platform; left out: the name of the manager's host.", "cori-knl"},
      {"mllog.staging", Words({"excluded", "included"}), "excluded",
       "Whether staging is part of the run's time, as in rounds up to 2.0, or comes before it.", "included"},
      {"mllog.target", Number(-kWidest), "",
       "The run is a success when an evaluation was as good as this; left out: when the program was one.", "0.124"},
  };
}

std::vector<Field> EnsembleFields() {
  const Type goal = Words({"minimize", "maximize"});
  const Type value = Words({"last", "best"});
  return {
      {"ensemble", Section(kOptional), "", "Many trials of the same training with other values, ranked.", ""},
      {"ensemble.objective", Section(), "", "What the trials are ranked by.", "", Since::kNow, Need::kRequired},
      {"ensemble.objective.metric", Of(kText), "", "Metric that the program reports.", "validation_accuracy",
       Since::kNow, Need::kRequired},
      {"ensemble.objective.goal", goal, "minimize", "Whether small or large is good.", "maximize"},
      {"ensemble.objective.value", value, "last", "The last or the best value of a trial counts.", "last"},
      {"ensemble.objective.reach", Number(-kWidest), "",
       "Time to accuracy: the trial's value is the seconds until the metric is as good as this; less is better.",
       "0.75"},
      {"ensemble.objectives", ListOf(Section()), "[]", "Further objectives, beside the first.", ""},
      {"ensemble.objectives[].metric", Of(kText), "", "Metric that the program reports.", "throughput", Since::kNow,
       Need::kRequired},
      {"ensemble.objectives[].goal", goal, "minimize", "Whether small or large is good.", "maximize"},
      {"ensemble.objectives[].value", value, "last", "The last or the best value of a trial counts.", "last"},
      {"ensemble.trials", Integer(1), "", "Number of configurations to try; may be left out with sampler: grid.", "16"},
      {"ensemble.parallel", OneOf({Integer(1), Words({"auto"})}), "1", "Trials at a time; auto: as many as fit.", "2"},
      {"ensemble.placement", Words({"allocation", "job"}), "allocation",
       "Trials share the nodes of the run's job, or each is a Slurm job of its own with nodes_per_trial nodes.", "job",
       Since::kWithSlurm},
      {"ensemble.nodes_per_trial", Integer(1), "1", "Nodes of each trial, out of launch.nodes.", "2"},
      {"ensemble.sampler", Words(ensemble::SamplerNames(), {"lhs"}), "auto", "How the next values are chosen.",
       "random"},
      {"ensemble.seed", Seed(), "0", "Same seed, same values.", "1"},
      {"ensemble.max_failures", Integer(0), "",
       "The ensemble fails when more trials than this fail; left out: when none succeeds.", "2"},
      {"ensemble.stop_on_same_failure", Integer(0), "3",
       "So many first trials that fail alike, or trials in a row that cannot be run, end the ensemble; 0: never.", "0"},
      {"ensemble.time_limit", Of(kDuration), "",
       "Time that one trial may run, all its attempts together; then it is ended as timed out.", "30m"},
      {"ensemble.space", MapOf(Of(kFree)), "",
       "The values to search: uniform, log, int, int_log, choice, ordinal or fixed, with an optional `step` and an "
       "optional condition `when`.",
       "{lr: {log: [1.0e-4, 1.0e-1]}, momentum: {uniform: [0, 0.99], when: {optimizer: sgd}}}", Since::kNow,
       Need::kRequired},
      {"ensemble.constraints", ListOf(Of(kText)), "[]", "Conditions between parameters that every trial meets.",
       "[\"units_1 <= units_0\", \"optimizer == 'sgd' or lr < 0.01\"]"},
      {"ensemble.points", ListOf(MapOf(Of(kFree))), "[]",
       "Configurations of the first trials; what one leaves out is drawn at random.", "[{lr: 0.01}]"},
  };
}

std::vector<Field> EnsembleControlFields() {
  return {
      {"ensemble.scheduler", Section(kOptional), "", "Ends weak trials early.", ""},
      {"ensemble.scheduler.type", Words(ensemble::SchedulerNames()), "", "The rule.", "asha", Since::kNow,
       Need::kRequired},
      {"ensemble.scheduler.resource", Of(kText), "epoch", "What a trial spends: step, epoch or a metric.", "epoch"},
      {"ensemble.scheduler.min", Number(0), "1", "Resource before the first decision; the first rung.", "1"},
      {"ensemble.scheduler.max", Number(0), "", "Resource of a whole trial.", "9"},
      {"ensemble.scheduler.reduction", Integer(2), "3", "One in this many goes on from a rung.", "3"},
      {"ensemble.scheduler.percentile", Between(0, 100), "50", "percentile: the best so many percent go on.", "25"},
      {"ensemble.scheduler.patience", Integer(0), "0",
       "Reports without improvement after which a trial may be ended; 0: not asked.", "5"},
      {"ensemble.scheduler.lower", Number(-kWidest), "", "threshold: a trial below this is ended.", "0.2"},
      {"ensemble.scheduler.upper", Number(-kWidest), "", "threshold: a trial above this is ended.", "10"},
      {"ensemble.scheduler.startup", Integer(0), "5", "median, percentile: complete trials to compare with first.",
       "5"},
      {"ensemble.scheduler.interval", Number(0), "0", "Resource between two decisions; 0: at each report.", "2"},
      {"ensemble.scheduler.quantile", Between(0, 0.5), "0.25", "pbt: the part of the population that is replaced.",
       "0.2"},
      {"ensemble.scheduler.population", Integer(0), "0", "pbt: its size; 0: as many as run at a time.", "16"},
      {"ensemble.scheduler.p_value", Between(0, 1), "0.1",
       "wilcoxon: how sure it must be that a configuration is worse before its repeats are left out.", "0.05"},
      {"ensemble.budget", Section(kOptional), "", "Limits of the whole ensemble, beside the number of trials.", ""},
      {"ensemble.budget.time", Of(kDuration), "", "Time of all runs of it together.", "8h"},
      {"ensemble.budget.node_hours", Between(0, 1e9), "", "Nodes times hours of all attempts.", "100"},
      {"ensemble.repeats", Integer(1), "1",
       "Runs of each configuration; SLIPWAY_REPEAT counts them, and an argument `seed` is raised by it.", "3"},
      {"ensemble.select", Section(kOptional), "",
       "At the end of a run: the model ensemble, chosen as `slipway trials select` chooses it.", ""},
      {"ensemble.select.top", Integer(1), "", "Most different members; left out: 25 of greedy, 3 of best.", "3"},
      {"ensemble.select.method", Words(ensemble::SelectionMethodNames()), "greedy",
       "greedy: whoever makes the average better; best: the best by the objective.", "greedy"},
      {"ensemble.select.by", Words({"trial", "configuration"}), "trial",
       "What a member is: a trial; or a configuration, with the average of what its `repeats` predict.",
       "configuration"},
      {"ensemble.select.metric", Words(ensemble::SelectionMetricNames()), "",
       "What the averaged predictions are scored by; left out: log_loss of classes, rmse of numbers.", "log_loss"},
  };
}

std::vector<Field> AllFields() {
  std::vector<Field> all = HeadFields();
  for (auto* part : {&SiteFields, &DataFields, &LaunchFields, &SlurmFields, &TrainFields, &GradientFields,
                     &SafetyFields, &MllogFields, &EnsembleFields, &EnsembleControlFields}) {
    Append(all, part());
  }
  return all;
}

/// Splits the first key off a path of the table: "data.*.tier" -> "data"; "objectives[].goal" -> "objectives".
std::string_view TakeKey(std::string_view& path) {
  const std::size_t end = std::min(path.find('.'), path.find("[]"));
  const std::string_view key = path.substr(0, end);
  path.remove_prefix(key.size());
  if (path.starts_with("[]")) path.remove_prefix(2);
  if (path.starts_with(".")) path.remove_prefix(1);
  return key;
}

FieldNode BuildTree() {
  FieldNode root;
  for (const Field& field : Fields()) {
    FieldNode* node = &root;
    std::string_view rest = field.path;
    while (!rest.empty()) {
      const std::string key(TakeKey(rest));
      const auto found = std::find_if(node->children.begin(), node->children.end(),
                                      [&](const auto& child) { return child.first == key; });
      node = found == node->children.end() ? &node->children.emplace_back(key, FieldNode{}).second : &found->second;
    }
    node->field = &field;
  }
  return root;
}

std::string_view LastKey(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

const std::vector<Field>& Fields() {
  static const std::vector<Field> kFields = AllFields();
  return kFields;
}

const FieldNode& FieldTree() {
  static const FieldNode kTree = BuildTree();
  return kTree;
}

bool FieldNode::TakesAnyName() const { return children.size() == 1 && children[0].first == "*"; }

const FieldNode* FieldNode::Child(std::string_view key) const {
  if (TakesAnyName()) return &children[0].second;
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const auto& child) { return child.first == key; });
  return found == children.end() ? nullptr : &found->second;
}

namespace {

/// Words that are customary elsewhere, and the field that they stand for. Arguments are those of the program.
constexpr std::pair<std::string_view, std::string_view> kCustomaryFields[] = {
    {"ranks", "launch.ranks_per_node"},
    {"nprocs", "launch.ranks_per_node"},
    {"ntasks", "launch.ranks_per_node"},
    {"ntasks_per_node", "launch.ranks_per_node"},
    {"cpus", "launch.cpus_per_rank"},
    {"cpus_per_task", "launch.cpus_per_rank"},
    {"gpus", "launch.gpus_per_rank"},
    {"memory", "launch.memory_per_rank"},
    {"walltime", "launch.time_limit"},
    {"search_space", "ensemble.space"},
    {"hyperparameters", "ensemble.space"},
    {"epochs", "train.args.epochs"},
    {"batch_size", "train.args.batch_size"},
    {"lr", "train.args.lr"},
    {"learning_rate", "train.args.learning_rate"},
};

std::string CustomaryField(std::string_view word) {
  const auto found = std::ranges::find(kCustomaryFields, word, [](const auto& entry) { return entry.first; });
  return found == std::end(kCustomaryFields) ? std::string() : std::string(found->second);
}

}  // namespace

std::string SuggestField(const FieldNode& section, std::string_view key) {
  constexpr std::size_t kLongestKey = 64;
  if (key.size() > kLongestKey) return {};
  for (const Field& field : Fields()) {
    if (LastKey(field.path) == key && field.path.find('*') == std::string::npos) return field.path;
  }
  std::vector<std::string> names;
  for (const auto& child : section.children) names.push_back(child.first);
  const auto nearest = NearestWord(key, names);
  return nearest.empty() ? CustomaryField(key) : nearest;
}

bool MayStandInSettings(std::string_view key) {
  static constexpr std::array<std::string_view, 5> kOwn = {"name", "description", "data", "train", "ensemble"};
  return std::find(kOwn.begin(), kOwn.end(), key) == kOwn.end();
}

}  // namespace slipway::launcher
