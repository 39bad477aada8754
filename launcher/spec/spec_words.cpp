#include "launcher/spec/spec.h"

namespace slipway::launcher {

WordTable<Verification> WordsOf(Verification) {
  static constexpr Word<Verification> kWords[] = {
      {Verification::kOff, "off", "not at all"},
      {Verification::kFormat, "format", "while they are copied"},
      {Verification::kFull, "full", "while they are copied, then by reading the copy again"}};
  return kWords;
}

WordTable<Keep> WordsOf(Keep) {
  static constexpr Word<Keep> kWords[] = {{Keep::kJob, "job", "remove it when the job ends"},
                                          {Keep::kCache, "cache", "keep it for the next job"}};
  return kWords;
}

WordTable<EngineChoice> WordsOf(EngineChoice) {
  static constexpr Word<EngineChoice> kWords[] = {
      {EngineChoice::kAuto, "auto", "slurm inside an allocation or where a slurm.conf is found, else local"},
      {EngineChoice::kLocal, "local", "this machine"},
      {EngineChoice::kSlurm, "slurm", "a job of Slurm"}};
  return kWords;
}

WordTable<Recorded> WordsOf(Recorded) {
  static constexpr Word<Recorded> kWords[] = {
      {Recorded::kFull, "full", "commit, diff, names of untracked files, versions, machine"},
      {Recorded::kNoDiff, "no_diff", "without the diff and the untracked files"},
      {Recorded::kOff, "off", "nothing"}};
  return kWords;
}

WordTable<Bind> WordsOf(Bind) {
  static constexpr Word<Bind> kWords[] = {{Bind::kAuto, "auto", "under Slurm, where no other job runs on the cores"},
                                          {Bind::kCores, "cores", "each rank has its own"},
                                          {Bind::kNone, "none", "all ranks share them"}};
  return kWords;
}

WordTable<NotifyOn> WordsOf(NotifyOn) {
  static constexpr Word<NotifyOn> kWords[] = {
      {NotifyOn::kEnd, "end", "the run has ended, however"},
      {NotifyOn::kFailure, "failure", "the run has failed, or an attempt that starts again"},
      {NotifyOn::kBest, "best", "a trial of the ensemble is better than all before"},
      {NotifyOn::kHang, "hang", "ranks hang"}};
  return kWords;
}

WordTable<MetricsSource> WordsOf(MetricsSource) {
  static constexpr Word<MetricsSource> kWords[] = {
      {MetricsSource::kRuntime, "runtime", "reported through the runtime or SLIPWAY_METRICS"},
      {MetricsSource::kStdout, "stdout", "found in the program's output"}};
  return kWords;
}

WordTable<GradientMode> WordsOf(GradientMode) {
  static constexpr Word<GradientMode> kWords[] = {{GradientMode::kSync, "sync", "wait for the exchange in each step"},
                                                  {GradientMode::kDelayed, "delayed", "apply it `lag` steps later"}};
  return kWords;
}

WordTable<Compression> WordsOf(Compression) {
  static constexpr Word<Compression> kWords[] = {
      {Compression::kNone, "none"}, {Compression::kBf16, "bf16"}, {Compression::kFp16, "fp16"}};
  return kWords;
}

WordTable<OnTimeLimit> WordsOf(OnTimeLimit) {
  static constexpr Word<OnTimeLimit> kWords[] = {
      {OnTimeLimit::kStop, "stop", "end the run"},
      {OnTimeLimit::kRequeue, "requeue", "queue the job again; it continues from its checkpoint"}};
  return kWords;
}

WordTable<StopSignal> WordsOf(StopSignal) {
  static constexpr Word<StopSignal> kWords[] = {
      {StopSignal::kNone, "none"}, {StopSignal::kUsr1, "USR1"}, {StopSignal::kTerm, "TERM"}};
  return kWords;
}

WordTable<OnNodeFailure> WordsOf(OnNodeFailure) {
  static constexpr Word<OnNodeFailure> kWords[] = {
      {OnNodeFailure::kFail, "fail", "end the attempt"},
      {OnNodeFailure::kExclude, "exclude", "continue without the lost node"}};
  return kWords;
}

WordTable<Placement> WordsOf(Placement) {
  static constexpr Word<Placement> kWords[] = {
      {Placement::kAllocation, "allocation", "trials share the nodes of the run's job"},
      {Placement::kJob, "job", "each trial is a Slurm job of its own with nodes_per_trial nodes"}};
  return kWords;
}

}  // namespace slipway::launcher
