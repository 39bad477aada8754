/// `slipway trials select`: the model ensemble that predicts the validation records best.
#pragma once

#include "launcher/trials/select_models.h"

namespace slipway::launcher {

/// As SelectModels, and prints what it has found. JSON: `slipway.trials.select/1`.
int TrialsSelect(const SelectModelsOptions& options, Output& output);

}  // namespace slipway::launcher
