/// The training itself: model, steps, evaluation, checkpoints.
#pragma once

#include "runtime/slipway.hpp"
#include "trainers/fashion/arguments.h"
#include "trainers/fashion/settings.h"

namespace fashion {

enum class Ending {
  kDone,    ///< trained to the end, or stopped as the launcher asked (after a checkpoint)
  kAtLimit  ///< came to the limit of its scheduler, with a checkpoint to go on from
};

/// Errors: std::exception with a message for people.
Ending Train(const Arguments& arguments, const Settings& settings, slipway::client::Session& session);

}  // namespace fashion
