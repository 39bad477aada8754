#include "launcher/ranks/nodes/cross_thread_calls.h"

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

}  // namespace slipway::launcher
