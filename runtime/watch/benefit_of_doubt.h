/// What nobody is blamed for yet.
#pragma once

#include <chrono>

namespace slipway::runtime {

/// Whoever counts the time looks much more often. When a look comes later, this process was stopped, perhaps with the
/// whole job, or found no processor; what the others did in that time cannot be held against them.
inline constexpr std::chrono::seconds kLongestGap{1};

/// For somebody who sees all nodes to say who holds the job up.
inline constexpr std::chrono::seconds kGraceForAnAnswer{10};

}  // namespace slipway::runtime
