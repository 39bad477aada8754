/// One side of a comparison: a sampler, and how many trials it keeps open.
#pragma once

#include <string>

namespace slipway::bench {

struct Side {
  std::string sampler;
  int parallel = 1;  ///< open trials: asked, without a result yet
};

/// "auto@8" is `auto` with eight open trials, "auto" has `otherwise`.
/// Errors: Error(kUsage) where a number from 1 to 10,000 should follow the @.
Side SideOf(const std::string& name, int otherwise);

}  // namespace slipway::bench
