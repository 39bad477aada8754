#include "launcher/nodes/calls_in.h"

#include <sys/eventfd.h>

#include <utility>

#include "core/error.h"

namespace slipway::launcher {

CallsIn::CallsIn(EventLoop& loop)
    : loop_(loop), bell_(CheckErrno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "cannot create an event descriptor")) {
  loop_.OnReadable(bell_.get(), [this] { MakeAll(); });
}

CallsIn::~CallsIn() { loop_.Forget(bell_.get()); }

void CallsIn::Post(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
  }
  ::eventfd_write(bell_.get(), 1);
}

void CallsIn::MakeAll() {
  eventfd_t ignored = 0;
  ::eventfd_read(bell_.get(), &ignored);
  std::vector<std::function<void()>> calls;
  {
    const std::scoped_lock lock(mutex_);
    calls = std::exchange(calls_, {});
  }
  for (const auto& call : calls) call();
}

}  // namespace slipway::launcher
