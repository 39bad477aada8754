#include "launcher/run/batch/batch_wait.h"

#include <algorithm>

#include "core/clock.h"
#include "launcher/cluster/poll_interval.h"
#include "launcher/run/batch/batch_observation.h"

namespace slipway::launcher {
namespace {

// What has just changed may change again soon; a file system that many share is not to be asked all the time.
constexpr std::chrono::milliseconds kShortestLook{100};
constexpr std::chrono::milliseconds kLongestLook{1000};

/// How long a run has been in its phase.
class PhaseClock {
 public:
  void Saw(Phase phase, SteadyTime now) {
    if (phase != last_) since_ = now;
    last_ = phase;
  }
  std::chrono::nanoseconds InPhase() const { return SystemClock().Steady() - since_; }

 private:
  SteadyTime since_ = SystemClock().Steady();
  Phase last_ = Phase::kCreated;
};

/// The first look is at once, the next as the state of the job says.
class Poll {
 public:
  bool IsDue() const { return SystemClock().Steady() >= next_; }

  void Took(const RunState& state, SteadyTime asked) {
    told_.Saw(state.phase, asked);
    PollRound round;
    round.phase = state.phase == Phase::kQueued ? JobPhase::kWaiting : JobPhase::kRunning;
    const auto now = SystemClock().Steady();
    round.in_phase = std::chrono::duration_cast<std::chrono::milliseconds>(told_.InPhase());
    round.answer_took = std::chrono::duration_cast<std::chrono::milliseconds>(now - asked);
    next_ = now + NextPollAfter(round);
  }

 private:
  SteadyTime next_{};
  PhaseClock told_;  ///< as Slurm tells it
};

std::chrono::nanoseconds FolderPause(const PhaseClock& stored) {
  return std::clamp<std::chrono::nanoseconds>(stored.InPhase() / 10, kShortestLook, kLongestLook);
}

}  // namespace

bool SleepOn(std::chrono::nanoseconds longest) {
  SystemClock().Sleep(longest);
  return true;
}

std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit, const Pause& pause,
                                        const Observe& observe) {
  const auto deadline = SystemClock().Steady() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                     limit.value_or(std::chrono::hours(24 * 365)));
  Poll poll;
  PhaseClock stored;
  while (true) {
    const auto asked = SystemClock().Steady();
    const bool asks = poll.IsDue();
    const auto state = asks ? observe(folder) : folder.ReadState();
    if (asks) {
      poll.Took(state, asked);
    } else {
      stored.Saw(state.phase, asked);
    }
    const bool copies_out = !asks && HasEnded(state.phase) && IsInBatchSystem(folder, state);
    if (HasEnded(state.phase) && !copies_out) return state;
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    if (!pause(std::min<std::chrono::nanoseconds>(left, FolderPause(stored)))) return {};
  }
}

}  // namespace slipway::launcher
