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
  std::int64_t reported = 0;   ///< steps that the metrics of all attempts name
};

/// kWithoutLostNodes: only if the remaining nodes are enough.
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

  /// Decides what follows an attempt. Call it once after each attempt, in their order.
  ///
  /// A lost node does not count as a restart: the number of nodes falls each time. A failed start is repeated once:
  /// some versions of Slurm and PMIx fail a few starts in a hundred. A program may ask for another turn while a
  /// checkpoint or its metrics show progress. Without visible progress it gets kMostUnseenTurns turns, because its
  /// saved state may be invisible to Slipway.
  Again After(const EndedAttempt& attempt);

  /// Consecutive requests for a turn without a sign of progress.
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
