#include "ensemble/manager/round_commit.h"

#include <cmath>

#include "ensemble/manager/crash_point.h"
#include "ensemble/manager/requests.h"

namespace slipway::ensemble {
namespace {

// The most time of a killed manager that goes uncounted.
constexpr double kSignsApart = 5;  // seconds

}  // namespace

void RoundCommit::operator()(const Changes& changes, const std::function<void()>& meanwhile) {
  if (changes.Empty()) return GiveSign(changes.time);
  if (!changes.ends.empty()) CrashPoint("before_tell_commit");
  if (!changes.claims.empty()) CrashPoint("before_claim_commit");
  if (!changes.stops.empty()) CrashPoint("before_stop_commit");
  Write(changes, meanwhile);
  if (!changes.ends.empty()) CrashPoint("after_tell_commit");
  if (!changes.claims.empty()) CrashPoint("after_claim_commit");
  if (!changes.stops.empty()) CrashPoint("after_stop_commit");
  if (!changes.answers.empty()) CrashPoint("after_answer_commit");
  for (const auto& answer : changes.answers) RemoveRequest(options_.requests_in, answer.name);
  Announce(changes);
}

void RoundCommit::GiveSign(double now) {
  if (std::abs(now - last_sign_) < kSignsApart) return;
  book_.NoteSignOfManager(now);
  last_sign_ = now;
}

void RoundCommit::Write(const Changes& changes, const std::function<void()>& meanwhile) {
  last_sign_ = changes.time;
  if (!meanwhile) return book_.Write(changes);
  auto durable = book_.BeginWrite(changes);
  meanwhile();
  durable.get();
}

void RoundCommit::Announce(const Changes& changes) const {
  for (const auto& begin : changes.begins) {
    const auto& trial = study_.at(begin.trial);
    if (trial.attempts == begin.attempt) observer_.AttemptStarted(trial);  // else it has ended already
  }
  for (const auto& metric : changes.metrics) observer_.MetricReported(metric);
  if (changes.ends.empty()) return;
  const auto best = study_.Best();
  for (const auto& end : changes.ends) observer_.AttemptEnded(end.trial, end.attempt_state, best ? &*best : nullptr);
}

}  // namespace slipway::ensemble
