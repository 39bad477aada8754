/// What a step wants of a Slurm job, as a spec: its `launch` section decides. Pure.
#pragma once

#include <string>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// A spec with those parts of the step that decide on its job: `launch`, `checkpoint`, `resilience`, the tiers, and of
/// an ensemble how many trials run at a time. The step's `slurm` lies below `launch.slurm` of its spec, `resources` and
/// `time_limit` of the step lie above. What holds references is left out: it is not known before the job runs.
///
/// The limit of the job covers all attempts, and a minute for what is around them.
YamlNode JobSpecOf(const Step& step);
/// The same as YAML.
std::string JobSpecText(const Step& step);

/// Whether data of the step is to lie in the burst buffer: the tier `burst` of one of its datasets.
bool WantsBurstBuffer(const Step& step);

}  // namespace slipway::launcher
