#include <fmt/format.h>

#include <limits>

#include "launcher/spec/burst_buffer_spec.h"
#include "launcher/spec/load.h"
#include "launcher/spec/scheduler_settings.h"
#include "launcher/spec/spec_forms.h"
#include "launcher/spec/spec_visitor.h"
#include "runtime/exchange/settings.h"

namespace slipway::launcher {
namespace {

const DocumentName kResolvedSpec{"the resolved spec", ErrorKind::kInternal};

using namespace type;
using enum TypeKind;
using enum SectionPresence;

Type TierOrTiers() { return OneOf({Of(kTier), ListOf(Of(kTier))}); }
Type PathOrPaths() { return OneOf({Of(kPath), ListOf(Of(kPath))}); }
Type StarterOrInterface() {
  return OneOf({KnownWords({{"auto", "mpirun where there is one, else what srun offers"},
                            {"mpirun"},
                            {"pmix", "`srun --mpi=pmix`, for Open MPI"},
                            {"pmi2", "`srun --mpi=pmi2`, for MPICH"},
                            {"cray_shasta", "`srun --mpi=cray_shasta`, for Cray MPICH"}}),
                Of(kName)});
}
Type StepsOrShare() { return OneOf({Of(kShare), Integer(0)}); }

void VisitTier(SpecVisitor& visit, staging::TierDefinition& tier) {
  visit({"path", Of(kTierPath), "",
         "Its directory; a ${NAME} in it is a variable of the job, looked up when data is staged.",
         "${LOCAL_SCRATCH}/slipway"},
        tier.path);
  visit({"kind", WordsFor<staging::TierKind>(), "disk", "What it is.", "disk"}, tier.kind);
  visit({"scope", WordsFor<staging::TierScope>(), "",
         "Who sees what is written there; left out: what the file system says.", "node"},
        tier.scope);
  visit({"capacity", Of(kBytes), "", "The most that a user's staged data may take there.", "800GB"}, tier.capacity);
  visit({"bandwidth", Of(kBytes), "", "Most bytes a second that a node writes to it.", "1GB"}, tier.bandwidth);
}

void VisitPatience(SpecVisitor& visit, PatienceSpec& patience) {
  visit({"join", Of(kDuration), "120s", "Longest time until all agents of a job are connected.", "10m"}, patience.join);
  visit({"start", Of(kDuration), "90s", "Longest time until all ranks of a start run.", "5m"}, patience.start);
  visit(
      {"silent_node", Of(kDuration), "30s", "Longest silence of a node whose kernel still answers; at least 4s.", "2m"},
      patience.silent_node);
}

}  // namespace

void Visit(SpecVisitor& visit, SiteSpec& site) {
  visit({"tier_order", TierOrTiers(), "", "Where datasets are staged that name no tier, in order of preference.",
         "[burst, node, ram, none]"},
        site.tier_order);
  visit({"bandwidth", Of(kBytes), "", "Most bytes a second that a node reads from the sources.", "2GB"},
        site.bandwidth);
  visit.Named({"tiers", Section(), "", "The tiers by name: new ones, or burst, node and ram as they are here.", ""},
              {"*", Section(), "", "One tier; its name is made of small letters, digits and '_'.", ""}, site.tiers,
              VisitTier);
  visit.Section({"patience", Section(), "", "How long nodes may take; large machines need more.", ""}, site.patience,
                VisitPatience);
}

void Visit(SpecVisitor& visit, DatasetSpec& dataset) {
  visit({"source", PathOrPaths(), "", "Files or folders of the dataset; patterns with * ? [ ] are allowed.",
         "../data/train-*.tfrecord", UsedBy::kAllEngines, Need::kRequired},
        dataset.sources);
  visit({"format", WordsFor<staging::DataFormat>({{"auto", "what their names say, or else what they hold"}}), "auto",
         "Format of the files.", "tfrecord"},
        dataset.format);
  visit({"tier", TierOrTiers(), "[\"ram\", \"node\", \"none\"]",
         "Where to stage it, in order of preference; `none` reads it where it lies.", "[burst, node, ram, none]"},
        dataset.tiers);
  visit({"distribute", WordsFor<staging::Distribution>(), "replicate", "Which records a rank reads.", "shard"},
        dataset.distribute);
  visit({"verify", WordsFor<Verification>(), "format", "How staged files are checked.", "format"}, dataset.verify);
  visit({"keep", WordsFor<Keep>(), "job", "What becomes of the staged copy.", "job"}, dataset.keep);
  visit({"bandwidth", Of(kBytes), "", "Most bytes a second that a node reads from the sources.", "500MB"},
        dataset.bandwidth);
  visit({"overlap", Of(kBool), "false",
         "Start the ranks when the first file is there; files arrive in the order of reading.", "true"},
        dataset.overlap);
  visit({"seed", Seed(), "0", "Chooses the order in which records are read, and files arrive.", "1"}, dataset.seed);
  visit({"remainder", WordsFor<staging::Remainder>(), "drop",
         "What becomes of records that cannot be shared out evenly to the ranks.", "repeat"},
        dataset.remainder);
  visit({"on_corrupt", WordsFor<staging::OnCorrupt>(), "fail", "What the reader does with a damaged record.", "skip"},
        dataset.on_corrupt);
}

void Visit(SpecVisitor& visit, ContainerSpec& container) {
  visit({"image", Of(kText), "",
         "Image: a file, a directory, or a reference that the runtime knows; a relative path starts at the spec's "
         "folder.",
         "docker://pytorch/pytorch:2.1", UsedBy::kAllEngines, Need::kRequired},
        container.image);
  visit({"runtime", WordsFor<ContainerRuntime>({{"auto", "the first that is there and can open the image"}}), "auto",
         "Program that runs containers.", "apptainer"},
        OrAuto{container.runtime});
  visit({"binds", ListOf(Of(kText)), "[]",
         "Directories to show in the container, as PATH or PATH:INSIDE; those of runs, data and Slipway are always "
         "there.",
         "[/opt/site]"},
        container.binds);
  visit({"options", ListOf(Of(kText)), "[]", "Further options of the runtime, as they are.", "[\"--nv\"]"},
        container.options);
}

void Visit(SpecVisitor& visit, BurstBufferSpec& buffer) {
  visit({"type", WordsFor<BurstBufferKind>(), "none", "Directives that the site understands.", "datawarp"},
        buffer.type);
  visit({"pool", Of(kText), "", "Pool to take it from; for dws the profile.", "wlm_pool"}, buffer.pool);
  visit({"access", WordsFor<BufferAccess>(), "striped", "Who sees what is written there.", "striped"}, buffer.access);
  visit({"capacity", Of(kBytes), "", "Its size, all nodes together; left out: what is staged there and `headroom`.",
         "2 TiB"},
        buffer.capacity);
  visit({"headroom", Of(kShare), "10%", "Space beyond the staged data.", "25%"}, Share{buffer.headroom});
  visit({"persistent", Of(kName), "", "Name of a buffer that outlives the job.", "cosmo"}, buffer.persistent);
  visit({"action", WordsFor<PersistentAction>(), "use", "What the job does with a persistent one.", "create"},
        buffer.action);
  visit({"stage_in", Of(kBool), "true",
         "Directives bring datasets of the tier `burst` before the job starts; `false`: the job does.", "false"},
        buffer.stage_in);
  visit({"stage_out", MapOf(Of(kPath)), "{}", "Folders of the buffer to copy out after the job: name -> destination.",
         "{plots: /project/me/plots}"},
        buffer.stage_out);
}

void Visit(SpecVisitor& visit, SlurmSpec& slurm) {
  visit({"partition", Of(kText), "", "Partition, or several with commas.", "debug"}, slurm.partition);
  visit({"account", Of(kText), "", "Account to charge.", "m1234"}, slurm.account);
  visit({"constraint", Of(kText), "", "Node features.", "knl"}, slurm.constraint);
  visit({"qos", Of(kText), "", "Quality of service.", "regular"}, slurm.qos);
  visit({"reservation", Of(kText), "", "Reservation.", "training"}, slurm.reservation);
  visit({"licenses", Of(kText), "", "Licenses.", "scratch:2"}, slurm.licenses);
  visit({"gpu_type", Of(kName), "", "Type of the GPUs, as Slurm names it; also a MIG profile.", "a100"},
        slurm.gpu_type);
  visit({"memory_per_node", OneOf({Of(kBytes), Words({"all"})}), "",
         "Main memory on each node; left out: that of its ranks and of what is staged in RAM.", "120 GiB"},
        OrAll{slurm.memory_per_node});
  visit({"exclusive", Of(kBool), "false", "No other job on the same nodes.", "true"}, slurm.exclusive);
  visit({"requeue", Of(kBool), "true", "Slurm queues the job again after preemption or node loss.", "false"},
        slurm.requeue);
  visit(
      {"signal_before", Of(kDuration), "120s",
       "Least time before the limit for the ranks to save; longer when their checkpoints took longer. Slipway asks for "
       "one minute more, since Slurm looks at the clock every half minute.",
       "5m"},
      slurm.signal_before);
  visit({"start", StarterOrInterface(), "auto",
         "What starts several ranks; also any other name that `srun --mpi=list` prints.", "pmix"},
        slurm.start);
  visit({"extra", ListOf(Of(kText)), "[]", "Further options of sbatch.", "[\"--exclude=n[1-3]\"]"}, slurm.extra);
  visit.Section({"burst_buffer", Section(), "", "Where the tier `burst` comes from; mostly set once for a site.", ""},
                slurm.burst_buffer);
}

void Visit(SpecVisitor& visit, LaunchSpec& launch) {
  visit({"engine", WordsFor<EngineChoice>(), "auto", "Who starts the ranks.", "local"}, launch.engine);
  visit({"mpi", WordsFor<Mpi>({{"auto", "what `mpirun` is"}}), "auto",
         "The MPI that starts several ranks, and whose libslipway they get.", "mpich"},
        OrAuto{launch.mpi});
  visit({"nodes", Integer(1), "1", "Number of nodes.", "4"}, launch.nodes);
  visit({"ranks_per_node", Integer(1), "1", "Training ranks on each node.", "2"}, launch.ranks_per_node);
  visit({"cpus_per_rank", Integer(1), "1", "Processor cores for each rank.", "8"}, launch.cpus_per_rank);
  visit({"gpus_per_rank", Integer(0), "0",
         "GPUs for each rank, which sees no others; trials and runs of yours on a machine share none.", "1"},
        launch.gpus_per_rank);
  visit({"bind", WordsFor<Bind>(), "auto", "Whether each of several ranks of a node has cores, and GPUs, of its own.",
         "cores"},
        launch.bind);
  visit({"memory_per_rank", Of(kBytes), "", "Main memory for each rank.", "16 GiB", UsedBy::kSlurm},
        launch.memory_per_rank);
  visit({"time_limit", Of(kDuration), "", "Longest time one attempt may take.", "20m"}, launch.time_limit);
  visit({"modules", ListOf(Of(kText)), "[]", "Environment modules to load.", "[pytorch/2.1]", UsedBy::kSlurm},
        launch.modules);
  visit({"env", MapOf(Of(kText)), "{}", "Environment variables of the ranks.", "{OMP_NUM_THREADS: \"1\"}"}, launch.env);
  visit({"workdir", OneOf({Words({"own", "spec"}), Of(kPath)}), "own",
         "Folder that the ranks work in; `own`: one for each run and trial, `spec`: that of the spec, or a path.",
         "\"/scratch/me/{slipway.trial}\""},
        launch.workdir);
  visit({"files", ListOf(Of(kPath)), "[]",
         "Files and folders beside the spec that programs find in their working directory, as links; patterns with * ? "
         "[ ] are allowed.",
         "[conf, \"*.json\"]"},
        launch.files);
  visit.Section({"container", Section(kOptional), "", "Container the ranks run in.", ""}, launch.container);
  visit.Section({"slurm", Section(), "", "What the Slurm engine asks for.", ""}, launch.slurm);
}

void Visit(SpecVisitor& visit, ValidationSpec& validation) {
  visit({"from", Of(kText), "", "Dataset to take them from.", "train", UsedBy::kAllEngines, Need::kRequired},
        validation.from);
  visit({"fraction", Number(0, 1), "0.1", "Share of the records, below 1; 0: all are trained on.", "0.1"},
        validation.fraction);
  visit({"seed", Seed(), "0", "Chooses which records.", "1"}, validation.seed);
}

void Visit(SpecVisitor& visit, MetricsSpec& metrics) {
  visit({"from", WordsFor<MetricsSource>(), "runtime", "Where they come from.", "stdout"}, metrics.from);
  visit({"pattern", Of(kText), "", "PCRE2 pattern for a line of the output; its named groups are metrics.",
         "'FoM: (?<objective>\\S+)'"},
        metrics.pattern);
  visit({"tensorboard", Of(kBool), "false",
         "Also write TensorBoard event files, live, into tensorboard/ of the run folder.", "true"},
        metrics.tensorboard);
}

void Visit(SpecVisitor& visit, TrainSpec& train) {
  visit({"program", Of(kText), "", "A bundled trainer.", "fashion"}, train.program);
  visit({"command", ListOf(Of(kText)), "",
         "Any program with its arguments; {NAME} stands for an argument's value, {{NAME}} for itself, "
         "{slipway.workdir} and the like for what the run knows. Without any {NAME} of an argument they follow as "
         "--NAME VALUE. No shell is involved.",
         "[python3, train.py, \"--lr={lr}\"]"},
        train.command);
  visit.Section(
      {"validation", Section(kOptional), "",
       "Records set aside to select on, split off by record; left out, bundled trainers take a tenth of 'train'.", ""},
      train.validation);
  visit({"args", MapOf(OneOf({Of(kScalar), ListOf(Of(kScalar))})), "{}",
         "Arguments of the program; a list becomes several words. batch_size counts per rank, global_batch_size over "
         "all ranks.",
         "{epochs: 3, batch_size: 64, lr: 0.01}"},
        ArgumentValues{train.args});
  visit({"flags", ListOf(Of(kText)), "[]",
         "Arguments or parameters without a value: true becomes --NAME, false nothing. Only with a command.",
         "[use-amp, amsgrad]"},
        train.flags);
  visit.Section({"metrics", Section(), "", "Where the program's metrics come from.", ""}, train.metrics);
}

void Visit(SpecVisitor& visit, GradientsSpec& gradients) {
  visit({"mode", WordsFor<GradientMode>(), "sync", "When gradients are applied.", "sync"}, gradients.mode);
  visit(
      {"lag", Integer(1, runtime::kMostLag), "", "Steps between computing and applying; only with mode: delayed.", "1"},
      gradients.lag);
  visit({"sync_first", StepsOrShare(), "0", "Steps (or percent of all) at the start that are synchronous.", "10%"},
        gradients.sync_first);
  visit({"sync_last", StepsOrShare(), "0", "Steps (or percent of all) at the end that are synchronous.", "0"},
        gradients.sync_last);
  visit({"accumulate", Integer(1), "1", "Backward passes of a rank that are added up for one exchange.", "4"},
        gradients.accumulate);
  visit({"compress", WordsFor<Compression>(), "none", "Number format on the wire.", "bf16"}, gradients.compress);
  visit({"clip_norm", Positive(), "", "Largest norm of all gradients together; larger ones are scaled down.", "1.0"},
        gradients.clip_norm);
  visit({"check_finite", Of(kBool), "false",
         "End the run when a gradient is NaN or infinite; the message names tensor and rank.", "true"},
        gradients.check_finite);
  visit({"deterministic", OneOf({Of(kBool), Words({"canonical"})}), "true",
         "The same bits in every run; `canonical`: whatever the placement.", "true"},
        gradients.deterministic);
  visit({"bucket", Of(kBytes), "4MiB", "Small tensors travel together until they fill so much.", "1MiB"},
        gradients.bucket);
  visit({"network", Words({"unknown", "dragonfly", "fat_tree"}), "unknown",
         "How the nodes are connected, which decides on the allreduce; a word for a machine's settings file.",
         "dragonfly"},
        gradients.network);
  visit({"gpu_exchange", WordsFor<GpuExchange>(), "auto",
         "Who adds up tensors in GPU memory; with direct, nccl and mpi it is an error where they cannot.", "nccl"},
        gradients.gpu_exchange);
  visit({"algorithms", Of(kText), "\"\"",
         "Which allreduce for which sizes of message, instead of the ones that `slipway plan` shows.",
         "recursive_doubling:0-8192;ring:8193-max"},
        gradients.algorithms);
}

void Visit(SpecVisitor& visit, KeepBestSpec& best) {
  visit({"metric", Of(kText), "", "Metric that the program gives slipway.checkpoint.save.", "val_loss",
         UsedBy::kAllEngines, Need::kRequired},
        best.metric);
  visit({"goal", WordsFor<ensemble::Goal>(), "minimize", "Which values are good.", "maximize"}, best.goal);
}

void Visit(SpecVisitor& visit, CheckpointSpec& checkpoint) {
  visit({"every", Of(kDuration), "", "Time between checkpoints; left out: after each epoch.", "5m"}, checkpoint.every);
  visit({"keep", Integer(1), "2", "Valid checkpoints to keep.", "2"}, checkpoint.keep);
  visit.Section(
      {"keep_best", Section(kOptional), "",
       "The best checkpoint by a metric, kept beside them; for programs that call slipway.checkpoint.save.", ""},
      checkpoint.keep_best);
  visit({"tier", TierOrTiers(), "[\"none\"]",
         "Where the program writes checkpoints and results, in order of preference; they are copied to the run folder "
         "while it goes on. none: straight into the run folder. Several nodes need a tier that all of them see.",
         "[burst, node, none]"},
        checkpoint.tiers);
  visit(
      {"bandwidth", Of(kBytes), "", "Most bytes a second that copying out of the tier may take; 0: no limit.", "200MB"},
      checkpoint.bandwidth);
  visit({"on_time_limit", WordsFor<OnTimeLimit>(), "stop", "What follows when the time is over.", "requeue"},
        checkpoint.on_time_limit);
  visit({"signal", WordsFor<StopSignal>(), "none",
         "Signal that asks a program to save and end, beside its stop file. It has 10 seconds then; before a time "
         "limit of Slurm launch.slurm.signal_before.",
         "USR1"},
        checkpoint.signal);
  visit({"stop_file", Of(kBool), "",
         "Whether the program looks for its stop file; it then has 10 seconds to save and end. false: SIGTERM ends it "
         "at once, unless checkpoint.signal is set. Left out: true if train.metrics.from is runtime.",
         "true"},
        checkpoint.stop_file);
}

void Visit(SpecVisitor& visit, ResilienceSpec& resilience) {
  visit({"max_restarts", Integer(0), "0", "Restarts from the last checkpoint; for an ensemble, retries of each trial.",
         "3"},
        resilience.max_restarts);
  visit({"on_node_failure", WordsFor<OnNodeFailure>(), "fail",
         "What follows the loss of a node; where a run cannot go on, launch.slurm.requeue queues its job again. Trials "
         "always go on.",
         "exclude"},
        resilience.on_node_failure);
  visit({"min_nodes", Integer(1), "1", "Fewest nodes to go on with.", "1"}, resilience.min_nodes);
  visit({"spare_nodes", Integer(0), "0",
         "Nodes that the job asks for beside launch.nodes; they take the place of lost ones.", "1", UsedBy::kSlurm},
        resilience.spare_nodes);
  visit({"stall_after", Of(kDuration), "60s",
         "Time without progress after which a rank counts as stuck, in programs that use libslipway. Others that hang "
         "are ended by launch.time_limit.",
         "60s"},
        resilience.stall_after);
}

void Visit(SpecVisitor& visit, NotifySpec& notify) {
  visit({"on", OneOf({WordsFor<NotifyOn>(), ListOf(WordsFor<NotifyOn>())}), "", "What it is sent about.", "[end, hang]",
         UsedBy::kAllEngines, Need::kRequired},
        OneOrMore{notify.on});
  visit({"command", ListOf(Of(kText)), "",
         "Program with its arguments; no shell is involved. It finds SLIPWAY_EVENT and the like, and JSON on its "
         "standard input.",
         "[mail, -s, training, me@example.org]"},
        notify.command);
  visit({"webhook", Of(kSecretUrl), "",
         "URL that gets a POST with JSON; a variable that holds it keeps it secret, and is looked up by the manager.",
         "$SLACK_WEBHOOK"},
        notify.webhook);
  visit({"template", Of(kText), "",
         "JSON for the webhook; {run}, {name}, {event} and others are replaced. Default: a document with all.",
         "'{\"text\": \"{run}: {state} {reason}\"}'"},
        notify.body);
}

void Visit(SpecVisitor& visit, TraceSpec& trace) {
  visit({"every", Integer(0), "100", "Steps between two lines of it; 0: none.", "10"}, trace.every);
  visit({"chrome", Of(kBool), "false", "Also write trace.json, for Perfetto and the trace viewer of Chrome.", "true"},
        trace.chrome);
  visit({"sums", Integer(0), "0", "Steps between check sums of each gradient, which slipway compare reads; 0: none.",
         "50"},
        trace.sums);
}

void Visit(SpecVisitor& visit, MllogSpec& mllog) {
  visit({"write", Of(kBool), "false", "Write mllog.txt, for the run or for each trial.", "true"}, mllog.write);
  visit({"benchmark", Of(kText), "", "submission_benchmark; left out: `train.program`, else the name.", "cosmoflow"},
        mllog.benchmark);
  visit({"org", Of(kText), "unnamed", "submission_org.", "NERSC"}, mllog.org);
  visit({"division", Words({"closed", "open"}), "open", "submission_division.", "closed"}, mllog.division);
  visit({"status", Words({"cloud", "onprem", "preview", "research"}), "research", "submission_status.", "onprem"},
        mllog.status);
  visit({"platform", Of(kText), "", "submission_platform; left out: the name of the manager's host.", "cori-knl"},
        mllog.platform);
  visit({"staging", Words({"excluded", "included"}), "excluded",
         "Whether staging counts as time of the run; it did in rounds up to 2.0.", "included"},
        WhetherIncluded{mllog.staging_included});
  visit({"target", AnyNumber(), "",
         "The run is a success when an evaluation was as good as this; left out: when the program was one.", "0.124"},
        mllog.target);
}

namespace {

void VisitSite(SpecVisitor& visit, SiteSpec& site) {
  visit({"tiers", MapOf(Of(kTier)), "{}", "Short names for storage tiers; mostly set once for a site.",
         "{scratch: \"dir:/scratch/me\"}"},
        site.aliases);
  visit.Section({"site", Section(), "",
                 "The storage tiers and time limits of a machine; mostly set once, in its settings file.", ""},
                site);
}

void VisitSpec(SpecVisitor& visit, Spec& spec) {
  visit({"name", Of(kName), "", "Name of the experiment; its run folders begin with it.", "fashion",
         UsedBy::kAllEngines, Need::kRequired},
        spec.name);
  visit({"description", Of(kText), "\"\"", "What the experiment is for, for people.", "Baseline of the paper"},
        spec.description);
  visit({"report", Of(kBool), "true", "Write report.html into the run folder at the end of the run.", "false"},
        spec.report);
  visit({"provenance", WordsFor<Recorded>(), "full", "What provenance.json records of the code and the machine.",
         "no_diff"},
        spec.provenance);
  visit({"tags", ListOf(Of(kText)), "[]",
         "Words to find its runs by; `slipway tag` changes those of a run. At most 32 of 64 letters, digits and "
         "'._-:/=' each.",
         "[baseline, paper]"},
        spec.tags);
  VisitSite(visit, spec.site);
  visit.Named({"data", Section(), "", "The datasets. A rank finds the staged files of NAME in SLIPWAY_DATA_NAME.", ""},
              {"*", Section(), "", "One dataset; its name is made of small letters, digits and '_'.", ""}, spec.data);
  visit.Section({"launch", Section(), "", "Where and how the ranks start.", ""}, spec.launch);
  visit.Section({"train", Section(), "", "The training program: either `program` or `command`.", ""}, spec.train);
  visit.Section({"gradients", Section(), "", "How ranks exchange gradients.", ""}, spec.gradients);
  visit.Section({"checkpoint", Section(), "", "When the state of training is saved.", ""}, spec.checkpoint);
  visit.Section({"resilience", Section(), "", "What happens when something goes wrong.", ""}, spec.resilience);
  visit.Section({"trace", Section(), "", "What the runtime tells of the time that each step takes.", ""}, spec.trace);
  visit.Section({"mllog", Section(), "", "A log as MLPerf HPC has it.", ""}, spec.mllog);
  visit.Section({"ensemble", Section(kOptional), "", "Many trials of the same training with other values, ranked.", ""},
                spec.ensemble);
  visit.List<NotifySpec>({"notify", ListOf(Section()), "[]", "Notifications about the run.", ""}, spec.notify, Visit);
}

void NameTiers(SiteSpec& site) {
  for (auto& tier : site.tiers) tier.origin = "site.tiers." + tier.name;
}

/// A log that is not asked for is none. Its benchmark is what names the run best.
void CompleteMllog(Spec& spec) {
  if (!spec.mllog || !spec.mllog->write) return spec.mllog.reset();
  for (const auto& name : {spec.train.program, spec.name}) {
    if (spec.mllog->benchmark.empty()) spec.mllog->benchmark = name;
  }
}

template <class Struct>
Struct Built(const Json& json, void (*visit_all)(SpecVisitor&, Struct&)) {
  Struct result{};
  const JsonPlace place(json, kResolvedSpec);
  SpecVisitor visit(place);
  visit_all(visit, result);
  return result;
}

}  // namespace

std::optional<JsonPlace> SpecVisitor::Enter(Field field) {
  if (table_ != nullptr) {
    field.path = prefix_ + field.path;
    table_->push_back(std::move(field));
    return {};
  }
  auto member = object_->Member(field.path);
  if (!member) object_->RefuseWithout(field.path.c_str());
  return member->is_null() ? std::nullopt : member;
}

const std::vector<Field>& Fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields;
    Spec any;
    SpecVisitor visit(fields, "");
    VisitSpec(visit, any);
    return fields;
  }();
  return kFields;
}

SiteSpec BuildSite(const Json& resolved) {
  auto site = Built<SiteSpec>(resolved, VisitSite);
  NameTiers(site);
  return site;
}

BurstBufferSpec BuildBurstBuffer(const Json& section) { return Built<BurstBufferSpec>(section, Visit); }

ensemble::SchedulerSettings SchedulerSettingsFrom(const Json& section) {
  return Built<SchedulerSpec>(section, Visit).settings;
}

Spec BuildSpec(const Json& resolved) {
  auto spec = Built<Spec>(resolved, VisitSpec);
  NameTiers(spec.site);
  CompleteMllog(spec);
  spec.launch.nodes_per_job = spec.ensemble ? spec.ensemble->nodes_per_trial : spec.launch.nodes;
  return spec;
}

}  // namespace slipway::launcher
