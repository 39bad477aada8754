#include "launcher/attempt/restart_policy.h"

#include <utility>

namespace slipway::launcher {

/// At a time limit that ends the run a program that saves and asks for another turn does not get one.
bool RestartPolicy::AsksToGoOn(const EndedAttempt& attempt) const {
  return attempt.at_time_limit ? settings_.goes_on_at_time_limit : attempt.asks_for_turn;
}

bool RestartPolicy::GetsAnotherTurn(const EndedAttempt& attempt, bool saved_more) {
  const bool reported_more = std::exchange(reported_, attempt.reported) < attempt.reported;
  if (saved_more || reported_more) {
    unseen_turns_ = 0;
    return true;
  }
  return attempt.asks_for_turn && ++unseen_turns_ <= kMostUnseenTurns;
}

Again RestartPolicy::After(const EndedAttempt& attempt) {
  const bool saved_more = std::exchange(saved_, attempt.saved) < attempt.saved;
  const bool asks = AsksToGoOn(attempt);
  if (attempt.interrupted || (!asks && (attempt.success || attempt.at_time_limit))) return Again::kNo;
  if (attempt.node_lost) return Again::kWithoutLostNodes;
  if (attempt.start_failed && !std::exchange(start_retried_, true)) return Again::kYes;
  if (settings_.is_trial) return Again::kNo;
  if (asks && GetsAnotherTurn(attempt, saved_more)) return Again::kYes;
  if (attempt.success || attempt.at_time_limit) return Again::kNo;
  return restarts_++ < settings_.max_restarts ? Again::kYes : Again::kNo;
}

}  // namespace slipway::launcher
