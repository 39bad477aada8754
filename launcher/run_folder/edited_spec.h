/// The spec that a run began with may have been edited since: the run goes on with its own copy.
#pragma once

#include <string>

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// "'exp.yaml' has changed since ...: train.args.lr 0.1 -> 0.2; ..."; empty where no field has changed, or the
/// file is gone. What --set has changed in the run does not count.
std::string RemarkOnEditedSpec(const RunFolder& folder);

}  // namespace slipway::launcher
