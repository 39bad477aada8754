/// The screen of `slipway watch`.
#pragma once

#include "launcher/watch/frame.h"
#include "launcher/watch/model.h"

namespace slipway::launcher::watch {

/// Smaller terminals get a friendly sentence instead.
inline constexpr Screen kSmallestScreen{10, 40};

/// Pure. Cost: the rows that are visible, and the points of curves that are shown.
Frame Draw(const Screen& screen, const Model& model);

}  // namespace slipway::launcher::watch
