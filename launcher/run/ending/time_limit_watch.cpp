#include "launcher/run/ending/time_limit_watch.h"

#include <utility>

#include "launcher/run/ending/save_time.h"

namespace slipway::launcher {

Seconds LeadFor(Seconds slowest_checkpoint) { return TimeToSave(slowest_checkpoint) + kLongestForTheManager; }

TimeLimitWatch::TimeLimitWatch(EventLoop& loop, Clock& clock, Questions questions, std::function<void(Seconds)> near,
                               std::chrono::nanoseconds beat)
    : loop_(loop), clock_(clock), questions_(std::move(questions)), near_(std::move(near)), beat_(beat) {
  LookLater();
}

TimeLimitWatch::~TimeLimitWatch() {
  if (timer_) loop_.Cancel(*timer_);
}

void TimeLimitWatch::LookLater() {
  timer_ = loop_.After(beat_, [this] { Look(); });
}

/// The controller is asked when it matters: once, and again before anything is done, since limits are extended.
void TimeLimitWatch::Look() {
  timer_.reset();
  const auto slowest = questions_.slowest_checkpoint();
  if (!slowest) return LookLater();
  const auto lead = LeadFor(*slowest);
  if (!end_) end_ = questions_.end();
  if (!IsNear(lead)) return LookLater();
  end_ = questions_.end();
  if (!IsNear(lead)) return LookLater();
  near_(*slowest);
}

bool TimeLimitWatch::IsNear(Seconds lead) const {
  return end_ && clock_.Now() + std::chrono::duration_cast<WallTime::duration>(lead) >= *end_;
}

}  // namespace slipway::launcher
