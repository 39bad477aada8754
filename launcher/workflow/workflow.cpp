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

}  // namespace slipway::launcher
