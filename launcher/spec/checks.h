/// What no single field can tell: combinations, names that refer to each other, and words that this version refuses.
#pragma once

#include "launcher/spec/read_fields.h"

namespace slipway::launcher {

/// Makes `site.tier_order` a list, replaces aliases in it, and checks aliases and the site's tiers.
void ResolveSite(Report& report, Draft& draft);

/// After ResolveSite. Brings the datasets into one form: `source` and `tier` become lists, aliases of tiers are
/// replaced, `format: auto` becomes the format that the files have. `checkpoint.tier` is treated likewise.
void ResolveDatasets(const Sources& sources, Report& report, Draft& draft);

/// Fields that were already reported as wrong take no part.
void CheckTraining(const Sources& sources, Report& report, const Draft& draft);
void CheckLaunch(Report& report, const Draft& draft);
void CheckSlurm(Report& report, const Draft& draft);
void CheckEnsemble(Report& report, const Draft& draft);
/// Each trial is a Slurm job of its own: no allocation says how many fit, or on how many nodes the manager is.
bool TrialsAreJobs(const Draft& draft);
/// Reports what a run that has begun cannot change.
void CheckChanges(const Json& before, Report& report, const Draft& draft);

}  // namespace slipway::launcher
