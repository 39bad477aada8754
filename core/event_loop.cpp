#include "core/event_loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.h"

namespace slipway {

struct EventLoop::Watch {
  int fd;
  Callback callback;
  bool forgotten = false;
};

struct SavedSignalMask {
  sigset_t mask;
};

EventLoop::EventLoop() : epoll_(CheckErrno(::epoll_create1(EPOLL_CLOEXEC), "cannot create an event queue")) {}

EventLoop::~EventLoop() {
  if (saved_mask_) ::sigprocmask(SIG_SETMASK, &saved_mask_->mask, nullptr);
}

void EventLoop::OnReadable(int fd, Callback callback) {
  auto watch = std::make_shared<Watch>(Watch{fd, std::move(callback)});
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  CheckErrno(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), "cannot watch a descriptor");
  watches_[fd] = std::move(watch);
}

void EventLoop::Forget(int fd) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  found->second->forgotten = true;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_.erase(found);
}

void EventLoop::OnSignals(const std::vector<int>& signals, std::function<void(int)> callback) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals) sigaddset(&wanted, signal);
  auto saved = std::make_unique<SavedSignalMask>();
  CheckErrno(::sigprocmask(SIG_BLOCK, &wanted, &saved->mask), "cannot block signals");
  if (!saved_mask_) saved_mask_ = std::move(saved);
  const int fd = CheckErrno(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "cannot watch signals");
  signal_fds_.emplace_back(fd);
  OnReadable(fd, [fd, callback = std::move(callback)] {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) callback(static_cast<int>(info.ssi_signo));
  });
}

EventLoop::TimerId EventLoop::After(std::chrono::nanoseconds delay, Callback callback) {
  const auto id = next_timer_++;
  timers_.emplace(id, Timer{SystemClock().Steady() + delay, std::move(callback)});
  return id;
}

void EventLoop::Cancel(TimerId timer) { timers_.erase(timer); }

int EventLoop::MillisecondsUntilNextTimer(std::chrono::nanoseconds limit) const {
  const auto now = SystemClock().Steady();
  auto wait = limit;
  for (const auto& [id, timer] : timers_) wait = std::min<std::chrono::nanoseconds>(wait, timer.due - now);
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return static_cast<int>(std::clamp<long long>(millis, 0, 1'000'000'000));
}

void EventLoop::RunDueTimers() {
  const auto now = SystemClock().Steady();
  std::vector<std::pair<SteadyTime, TimerId>> due;
  for (const auto& [id, timer] : timers_) {
    if (timer.due <= now) due.emplace_back(timer.due, id);
  }
  std::sort(due.begin(), due.end());
  for (const auto& [time, id] : due) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) continue;  // cancelled by an earlier callback
    const auto callback = std::move(found->second.callback);
    timers_.erase(found);
    callback();
  }
}

void EventLoop::RunOnce(std::chrono::nanoseconds limit) {
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), MillisecondsUntilNextTimer(limit));
  if (count < 0 && errno != EINTR) ThrowErrno("cannot wait for events");
  // Hold the watches of this round: a callback may forget others, or close and reopen a number.
  std::vector<std::shared_ptr<Watch>> ready;
  for (int i = 0; i < count; ++i) {
    const auto found = watches_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found != watches_.end()) ready.push_back(found->second);
  }
  for (const auto& watch : ready) {
    if (!watch->forgotten) watch->callback();
  }
  RunDueTimers();
}

}  // namespace slipway
