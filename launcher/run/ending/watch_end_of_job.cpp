#include "launcher/run/ending/watch_end_of_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "launcher/run/ending/job_end_reason.h"

namespace slipway::launcher {

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
