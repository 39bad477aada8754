#include "launcher/run/batch/batch_wait.h"

#include <algorithm>

#include "core/clock.h"
#include "launcher/engines/slurm/poll_interval.h"
#include "launcher/run/batch/batch_observation.h"

namespace slipway::launcher {
namespace {

constexpr auto kFolderInterval = std::chrono::seconds(1);

/// The first look is at once, the next as the state of the job says.
class Poll {
 public:
  bool IsDue() const { return SystemClock().Steady() >= next_; }

  void Took(const RunState& state, SteadyTime asked) {
    if (state.phase != last_) since_ = asked;
    last_ = state.phase;
    PollRound round;
    round.phase = state.phase == Phase::kQueued ? JobPhase::kWaiting : JobPhase::kRunning;
    const auto now = SystemClock().Steady();
    round.in_phase = std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
    round.answer_took = std::chrono::duration_cast<std::chrono::milliseconds>(now - asked);
    next_ = now + NextPollAfter(round);
  }

 private:
  SteadyTime next_{};
  SteadyTime since_{};
  Phase last_ = Phase::kCreated;
};

}  // namespace

bool SleepOn(std::chrono::nanoseconds longest) {
  SystemClock().Sleep(longest);
  return true;
}

std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit, const Pause& pause) {
  const auto deadline = SystemClock().Steady() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                     limit.value_or(std::chrono::hours(24 * 365)));
  Poll poll;
  while (true) {
    const auto asked = SystemClock().Steady();
    const bool asks = poll.IsDue();
    const auto state = asks ? ObserveRun(folder) : folder.ReadState();
    if (asks) poll.Took(state, asked);
    const bool copies_out = !asks && HasEnded(state.phase) && IsInBatchSystem(folder, state);
    if (HasEnded(state.phase) && !copies_out) return state;
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    if (!pause(std::min<std::chrono::nanoseconds>(left, kFolderInterval))) return {};
  }
}

}  // namespace slipway::launcher
