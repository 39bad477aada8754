/// Calls that other threads leave for an event loop, and a thread for calls that would hold the loop up.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
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
  /// Makes those that have come, without waiting for the loop. From the loop's thread.
  void MakeAll();

 private:
  EventLoop& loop_;
  UniqueFd wakeup_;
  std::mutex mutex_;
  std::vector<std::function<void()>> calls_;
};

/// A thread for calls that may wait for a file system, so that the event loop goes on meanwhile. It blocks all signals,
/// and lives until Finish(): processes that it starts may be set to end with their parent, which for the kernel is this
/// thread. Not movable. All calls from the loop's thread.
class CallThread {
 public:
  using Then = std::function<void()>;

  explicit CallThread(EventLoop& loop);
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;
  ~CallThread();

  /// Makes `call` in the thread, after those before it; then, in the loop, what it returns. `call` must not throw.
  void Make(std::function<Then()> call);
  /// Waits for the call that is being made and for what follows from it in the loop; drops those that have not begun.
  /// No call is made after it.
  void Finish();

 private:
  void Serve();

  CrossThreadCalls then_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Then()>> waiting_;  ///< guarded by mutex_
  bool over_ = false;                          ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace slipway::launcher
