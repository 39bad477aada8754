#include "launcher/run/workflow/job_room.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cluster/poll_interval.h"

namespace slipway::launcher {
namespace {

/// `slipway cancel` in another terminal is noticed within this time.
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(500);

}  // namespace

bool JobRoom::Await(const SlurmError& refusal, const std::string& so_far, const std::function<bool()>& is_over) {
  const auto now = SystemClock().Steady();
  if (refusals_++ == 0) {
    first_ = now;
    const auto limit = patience_.longest ? fmt::format(" for {}", FormatDuration(*patience_.longest)) : "";
    patience_.say(fmt::format("{}: {}; trying again{}, Ctrl-C ends it", so_far, refusal.message(), limit));
  }
  auto until = now + NextTryAfter(refusals_);
  if (patience_.longest) {
    const auto end = first_ + std::chrono::duration_cast<std::chrono::nanoseconds>(*patience_.longest);
    if (now >= end) return false;
    until = std::min<SteadyTime>(until, end);
  }
  has_waited_ = true;
  while (SystemClock().Steady() < until && !is_over()) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - SystemClock().Steady());
    if (!patience_.pause(std::clamp(left, std::chrono::nanoseconds(0), kLongestPause))) {
      throw Error(ErrorKind::kInterrupted, fmt::format("you have ended the submission: {}", so_far));
    }
  }
  return true;
}

}  // namespace slipway::launcher
