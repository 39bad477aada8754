/// Calls that block, in a thread of their own, so that the watch can end the wait for one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/group/waiter.h"

namespace slipway::runtime {

/// One thread at a time.
class BlockingCalls {
 public:
  BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;
  ~BlockingCalls();

  /// Runs `call` in the thread, and waits for its end. `missing`: ranks of the job that it may wait for.
  /// Errors: those of `call`; STALLED as of Waiter::Until(). Then the thread is left in the call, and only abandoned()
  /// may be used. So `call` holds what it needs.
  void Run(std::function<void()> call, Waiter& waiter, const std::function<std::vector<int>()>& missing);
  bool abandoned() const { return abandoned_; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> call;  ///< null: there is nothing to do
    std::exception_ptr error;
    std::atomic<bool> done = true;
    bool stop = false;
    Bell bell;
  };
  static void Serve(const std::shared_ptr<Shared>& shared);
  void Stop();

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  ///< outlives this where the thread was left
  bool abandoned_ = false;
  std::thread thread_;
};

}  // namespace slipway::runtime
