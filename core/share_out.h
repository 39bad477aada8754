/// The same work on several threads, until one of them fails.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace slipway {

/// The processors that this process may use.
std::size_t UsableProcessors();

/// Gives each of 0 .. `count`-1 once to one of `threads` workers; a worker is what `make_worker` returns, made and used
/// on its own thread.
///
/// Errors: the first that a worker threw, when all threads have ended. The others get no more work then, and `stopped`
///         tells those at work; what they throw because of it does not count.
using Worker = std::function<void(std::size_t item)>;
void ShareOut(std::size_t count, std::size_t threads, std::atomic<bool>& stopped,
              const std::function<Worker()>& make_worker);

}  // namespace slipway
