#include "launcher/spec/checks.h"

namespace slipway::launcher {

void CompleteAndCheck(const Sources& sources, Report& report, Draft& draft) {
  ResolveSite(report, draft);
  ResolveDatasets(sources, report, draft);
  CheckTraining(sources, report, draft);
  CheckLaunch(report, draft);
  CheckSlurm(report, draft);
  CheckEnsemble(report, draft);
  CheckNotes(report, draft);
}

}  // namespace slipway::launcher
