#include "launcher/cluster/poll_interval.h"

#include <algorithm>

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kShortest{500};
constexpr milliseconds kLongest = seconds(60);
constexpr milliseconds kFirstRefusal = seconds(1);
constexpr int kShareOfTime = 50;
constexpr int kMostPollDoublings = 16;

/// A running job reports its progress in its run folder, and a job that ends soon ends: only the queue may take days.
milliseconds LongestIn(JobPhase phase) {
  switch (phase) {
    case JobPhase::kWaiting: return seconds(30);
    case JobPhase::kRunning: return seconds(15);
    case JobPhase::kEnding: return seconds(5);
    case JobPhase::kOver: break;
  }
  return kLongest;
}

milliseconds AfterFailures(int failures) { return kShortest * (1 << std::min(failures, kMostPollDoublings)); }

}  // namespace

milliseconds NextPollAfter(const PollRound& round) {
  const auto calm = round.failures > 0 ? AfterFailures(round.failures)
                                       : std::clamp(round.in_phase / 10, kShortest, LongestIn(round.phase));
  return std::min(std::max(calm, round.answer_took * kShareOfTime), kLongest);
}

milliseconds NextTryAfter(int refusals) {
  return std::min<milliseconds>(kFirstRefusal * (1 << std::clamp(refusals - 1, 0, kMostPollDoublings)), kLongest);
}

}  // namespace slipway::launcher
