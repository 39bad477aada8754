#include "launcher/ranks/nodes/cross_thread_calls.h"

#include <signal.h>
#include <sys/eventfd.h>

#include <utility>

#include "core/error.h"

namespace slipway::launcher {

CrossThreadCalls::CrossThreadCalls(EventLoop& loop)
    : loop_(loop), wakeup_(CheckErrno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "cannot create an event descriptor")) {
  loop_.OnReadable(wakeup_.get(), [this] { MakeAll(); });
}

CrossThreadCalls::~CrossThreadCalls() { loop_.Forget(wakeup_.get()); }

void CrossThreadCalls::Post(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
  }
  ::eventfd_write(wakeup_.get(), 1);
}

void CrossThreadCalls::MakeAll() {
  eventfd_t ignored = 0;
  ::eventfd_read(wakeup_.get(), &ignored);
  std::vector<std::function<void()>> calls;
  {
    const std::scoped_lock lock(mutex_);
    calls = std::exchange(calls_, {});
  }
  for (const auto& call : calls) call();
}

/// A signal that the loop reads must not reach the thread, where it would end the process.
CallThread::CallThread(EventLoop& loop) : then_(loop) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Serve(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CallThread::~CallThread() { Finish(); }

void CallThread::Make(std::function<Then()> call) {
  const std::scoped_lock lock(mutex_);
  if (over_) return;
  waiting_.push_back(std::move(call));
  changed_.notify_one();
}

void CallThread::Finish() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    waiting_.clear();
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  then_.MakeAll();
}

void CallThread::Serve() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    auto call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    then_.Post(call());
  }
}

}  // namespace slipway::launcher
