/// How fast `doctor` copies.
#pragma once

#include <cstddef>
#include <functional>

namespace slipway::launcher {

inline constexpr std::size_t kCopiedBytes = 64u << 20;

/// Bytes a second, of the fastest of four rounds: the first one wakes the link. `copy` copies kCopiedBytes bytes and
/// waits for them.
double FastestCopy(const std::function<void()>& copy);

}  // namespace slipway::launcher
