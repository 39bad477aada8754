/// The training itself: steps, evaluation, checkpoints. Includes libtorch's tensors.
#pragma once

#include "runtime/slipway.hpp"
#include "trainers/common/arguments.h"
#include "trainers/common/settings.h"
#include "trainers/common/task.h"

namespace trainers {

enum class Ending {
  kDone,    ///< trained to the end, or stopped as the launcher asked (after a checkpoint)
  kAtLimit  ///< came to the limit of its scheduler, with a checkpoint to go on from
};

/// Errors: std::exception with a message for people.
Ending Train(const Task& task, const Arguments& arguments, const Settings& settings, slipway::client::Session& session);

}  // namespace trainers
