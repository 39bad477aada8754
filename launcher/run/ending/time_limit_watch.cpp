#include "launcher/run/ending/time_limit_watch.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "launcher/run/ending/job_end_reason.h"
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

std::unique_ptr<TimeLimitWatch> WatchEndOfJob(RunContext& context,
                                              std::function<std::optional<Seconds>()> slowest_checkpoint) {
  const auto job = context.batch_job;
  if (job.id == 0) return nullptr;
  TimeLimitWatch::Questions questions{std::move(slowest_checkpoint), [job] { return EndOfJob(job); }};
  return std::make_unique<TimeLimitWatch>(context.loop, SystemClock(), std::move(questions),
                                          [&context](Seconds slowest) {
                                            context.Note("time_limit_near", Json{{"attempt", context.state.attempt},
                                                                                 {"checkpoint_s", slowest.count()},
                                                                                 {"lead_s", LeadFor(slowest).count()}});
                                            context.interrupt.AskForTimeLimit();
                                          });
}

std::optional<Seconds> TimeLeftInJob(const RunContext& context) {
  if (context.batch_job.id == 0) return {};
  const auto end = EndOfJob(context.batch_job);
  return end ? std::optional(Seconds(*end - SystemClock().Now())) : std::nullopt;
}

}  // namespace slipway::launcher
