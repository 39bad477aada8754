/// Checks across fields: combinations, names that refer to each other, and words that this version refuses.
#pragma once

#include <string>

#include "launcher/spec/read_fields.h"

namespace slipway::launcher {

/// A single value becomes a list of one.
void MakeList(Json& value);
/// Replaces aliases in the list of tiers at `path` and reports unknown words. An alias stands for a tier, not for
/// another alias.
void ResolveTiers(const std::string& path, Json& tiers, Report& report, Draft& draft);
/// Makes `site.tier_order` a list, replaces aliases in it, and checks aliases and the site's tiers.
void ResolveSite(Report& report, Draft& draft);

/// Normalizes the datasets, after ResolveSite. `source` and `tier` become lists, and aliases of tiers are replaced.
/// `format: auto` becomes the format of the files. `checkpoint.tier` is treated likewise.
void ResolveDatasets(const Sources& sources, Report& report, Draft& draft);

/// Fields that were already reported as wrong are skipped.
void CheckTraining(const Sources& sources, Report& report, const Draft& draft);
void CheckLaunch(Report& report, const Draft& draft);
void CheckSlurm(Report& report, const Draft& draft);
void CheckEnsemble(Report& report, const Draft& draft);
/// Of the description, tags and notifications.
void CheckNotes(Report& report, const Draft& draft);
/// Completes and checks the whole draft of a spec, in this order.
void CompleteAndCheck(const Sources& sources, Report& report, Draft& draft);
/// Whether each trial is a Slurm job of its own. Then no allocation determines how many fit, or the nodes of the
/// manager.
bool TrialsAreJobs(const Draft& draft);
/// Reports changes that a run which has begun does not allow.
void CheckChanges(const Json& before, RunKind kind, Report& report, const Draft& draft);

}  // namespace slipway::launcher
