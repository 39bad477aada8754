/// Whether another attempt follows one that has ended. Pure.
#pragma once

#include <cstdint>

namespace slipway::launcher {

/// What is known of an attempt that has ended.
struct EndedAttempt {
  bool interrupted = false;  ///< by the user, or by the warning before the end of its job
  bool success = false;
  bool node_lost = false;
  bool start_failed = false;   ///< not all ranks came, or not all reached the end of MPI_Init
  bool at_time_limit = false;  ///< Slipway ended it there
  bool asks_for_turn = false;  ///< its exit status was 75: save, and start me again
  std::uint64_t saved = 0;     ///< steps up to the newest checkpoint
  std::int64_t reported = 0;   ///< steps in the metrics of all attempts
};

/// kWithoutLostNodes: if the nodes that are left are enough.
enum class Again { kNo, kYes, kWithoutLostNodes };

struct RestartSettings {
  int max_restarts = 0;                ///< after failures
  bool goes_on_at_time_limit = false;  ///< checkpoint.on_time_limit: requeue
  bool is_trial = false;               ///< its ensemble decides what follows a failure
};

class RestartPolicy {
 public:
  /// `saved`: steps up to the checkpoint that the first attempt begins with.
  RestartPolicy(RestartSettings settings, std::uint64_t saved) : settings_(settings), saved_(saved) {}

  /// To be asked once after each attempt, in their order.
  ///
  /// A lost node costs no restart: there are fewer nodes each time. A start that fails is repeated once: some versions
  /// of Slurm and PMIx lose a few of a hundred. A program may ask for further turns while a checkpoint or its metrics
  /// show progress, and for kMostUnseenTurns without: it may keep what it saves to itself.
  Again After(const EndedAttempt& attempt);

  /// Turns asked for in a row without a sign of progress.
  int unseen_turns() const { return unseen_turns_; }
  static constexpr int kMostUnseenTurns = 20;

 private:
  bool AsksToGoOn(const EndedAttempt& attempt) const;
  bool GetsAnotherTurn(const EndedAttempt& attempt, bool saved_more);

  RestartSettings settings_;
  std::uint64_t saved_;
  std::int64_t reported_ = 0;
  bool start_retried_ = false;
  int restarts_ = 0;
  int unseen_turns_ = 0;
};

}  // namespace slipway::launcher
