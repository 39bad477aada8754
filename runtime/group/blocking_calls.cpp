#include "runtime/group/blocking_calls.h"

#include <utility>

namespace slipway::runtime {

BlockingCalls::BlockingCalls() : thread_([shared = shared_] { Serve(shared); }) {}

BlockingCalls::~BlockingCalls() {
  if (abandoned_) return;
  Stop();
  thread_.join();
}

void BlockingCalls::Stop() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->changed.notify_all();
}

void BlockingCalls::Serve(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::function<void()> call;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return shared->stop || shared->call != nullptr; });
      if (shared->call == nullptr) return;
      call = std::exchange(shared->call, nullptr);
    }
    try {
      call();
    } catch (...) {
      shared->error = std::current_exception();
    }
    call = nullptr;
    shared->done.store(true, std::memory_order_release);
    shared->bell.Ring();
  }
}

void BlockingCalls::Run(std::function<void()> call, Waiter& waiter, const std::function<std::vector<int>()>& missing) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->done = false;
    shared_->error = nullptr;
    shared_->call = std::move(call);
  }
  shared_->changed.notify_all();
  try {
    waiter.Until([this] { return shared_->done.load(std::memory_order_acquire); }, missing, &shared_->bell);
  } catch (...) {
    Stop();
    thread_.detach();
    abandoned_ = true;
    throw;
  }
  if (shared_->error) std::rethrow_exception(std::exchange(shared_->error, nullptr));
}

}  // namespace slipway::runtime
