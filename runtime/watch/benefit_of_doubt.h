/// Grace periods: how long a rank is not blamed yet.
#pragma once

#include <chrono>

namespace slipway::runtime {

/// The most time that counts as waiting between two looks at the clock. Waiting threads look much more often. After a
/// longer gap this process was stopped, perhaps with the whole job, or got no processor. The other ranks are not blamed
/// for that time.
inline constexpr std::chrono::seconds kLongestGap{1};

/// Time for an observer of all nodes to answer which rank holds the job up.
inline constexpr std::chrono::seconds kGraceForAnAnswer{10};

}  // namespace slipway::runtime
