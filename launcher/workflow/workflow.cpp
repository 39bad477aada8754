#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

WordTable<StepKind> WordsOf(StepKind) {
  static constexpr Word<StepKind> kWords[] = {{StepKind::kCommand, "command", "any program"},
                                              {StepKind::kData, "data", "an action of slipway data"},
                                              {StepKind::kExperiment, "experiment", "one training"},
                                              {StepKind::kEnsemble, "ensemble", "many trials, ranked"},
                                              {StepKind::kReport, "report", "the report page of runs"}};
  return kWords;
}

WordTable<CodeInKey> WordsOf(CodeInKey) {
  static constexpr Word<CodeInKey> kWords[] = {{CodeInKey::kFiles, "files", "the files that its command names"},
                                               {CodeInKey::kGit, "git", "commit and edits of their git repository"}};
  return kWords;
}

WordTable<JobForm> WordsOf(JobForm) {
  static constexpr Word<JobForm> kWords[] = {
      {JobForm::kAuto, "auto", "by size: small steps packed, others as an array"},
      {JobForm::kSingle, "single", "a job for each step"},
      {JobForm::kArray, "array", "a job array"},
      {JobForm::kPacked, "packed", "several steps in one job"}};
  return kWords;
}

}  // namespace slipway::launcher
