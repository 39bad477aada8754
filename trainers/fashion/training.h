/// The training itself: model, steps, evaluation, checkpoints.
#pragma once

#include "runtime/slipway.hpp"
#include "trainers/fashion/arguments.h"
#include "trainers/fashion/settings.h"

namespace fashion {

/// Trains to the end, or until the launcher asks to stop (after a checkpoint).
/// Errors: std::exception with a message for people.
void Train(const Arguments& arguments, const Settings& settings, slipway::client::Session& session);

}  // namespace fashion
