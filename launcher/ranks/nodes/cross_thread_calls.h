/// One thread calls another one's event loop.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

/// Calls that are to be made in a loop's thread, from any thread. Not movable: the event loop holds its address.
class CrossThreadCalls {
 public:
  /// From the loop's thread, as the destructor.
  explicit CrossThreadCalls(EventLoop& loop);
  CrossThreadCalls(const CrossThreadCalls&) = delete;
  CrossThreadCalls& operator=(const CrossThreadCalls&) = delete;
  ~CrossThreadCalls();

  /// They are made in the order in which they came; those that have not been made in the end are dropped.
  void Post(std::function<void()> call);

 private:
  void MakeAll();

  EventLoop& loop_;
  UniqueFd wakeup_;
  std::mutex mutex_;
  std::vector<std::function<void()>> calls_;
};

}  // namespace slipway::launcher
