#include "ensemble/manager/same_failure.h"

#include <fmt/format.h>

#include <optional>

#include "core/likeness.h"

namespace slipway::ensemble {
namespace {

// Exit statuses of the shell and of other programs that start programs: not executable, not found.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

struct Kind {
  bool of_environment = false;
  std::string words;
  std::string key = {};
};

enum class Effect {
  kFailed,
  kWorked,  ///< also failures of the trial's own, such as out of memory
  kNothing  ///< no evidence about the program or the machine
};

Effect EffectOf(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kFailed:
    case Outcome::kKilled:
    case Outcome::kNotStarted:
    case Outcome::kNoObjective: return Effect::kFailed;
    case Outcome::kComplete:
    case Outcome::kPruned:
    case Outcome::kPaused:
    case Outcome::kTimedOut:
    case Outcome::kOutOfMemory: return Effect::kWorked;
    default: return Effect::kNothing;
  }
}

bool CouldNotRun(const AttemptFacts& facts, const Verdict& verdict) {
  if (verdict.outcome == Outcome::kNotStarted) return true;
  return facts.status && (facts.status->code == kNotExecutable || facts.status->code == kNotFound);
}

/// The last line of the log, or the message of the runner.
const std::string& LastWords(const AttemptFacts& facts) {
  return facts.last_line.empty() ? facts.detail : facts.last_line;
}

/// How the attempt ended, and the last line of its log: "exit status 1: No module named 'torch'".
std::string Words(const AttemptFacts& facts, const Verdict& verdict) {
  if (verdict.outcome == Outcome::kNoObjective) return verdict.reason;
  return facts.status ? fmt::format("{}: {}", facts.status->Describe(), LastWords(facts)) : LastWords(facts);
}

/// A key that is equal for failures alike. Exit statuses make a difference, other numbers do not.
std::string KeyOf(const AttemptFacts& facts, const Verdict& verdict) {
  const auto status = facts.status ? facts.status->Describe() : std::string();
  const auto& what = verdict.outcome == Outcome::kNoObjective ? verdict.missing : LastWords(facts);
  return fmt::format("{}/{}/{}", WordOf(verdict.outcome), status, WithoutPathsAndNumbers(what));
}

/// The kind of a failure; nothing for a failure that is like no other.
std::optional<Kind> KindOf(const AttemptFacts& facts, const Verdict& verdict) {
  const bool of_environment = CouldNotRun(facts, verdict);
  const bool has_words = verdict.outcome == Outcome::kNoObjective || !facts.last_line.empty();
  if (!of_environment && !has_words) return std::nullopt;
  return Kind{of_environment, Words(facts, verdict), KeyOf(facts, verdict)};
}

/// The value is NaN or infinite: the program works.
bool IsOfItsValue(const AttemptFacts& facts, const Verdict& verdict) {
  return verdict.outcome == Outcome::kNoObjective && facts.value;
}

}  // namespace

void SameFailure::Take(TrialNumber trial, const AttemptFacts& facts, const Verdict& verdict) {
  const auto effect = EffectOf(verdict);
  if (effect == Effect::kWorked || IsOfItsValue(facts, verdict)) return Worked();
  if (effect == Effect::kNothing || limit_ == 0 || !what_.empty()) return;
  const auto kind = KindOf(facts, verdict);
  const bool counts = kind && (kind->of_environment || !any_has_worked_);
  if (!counts || kind->key != key_) trials_.clear();
  if (!counts) return;
  key_ = kind->key;
  trials_.insert(trial);
  if (static_cast<int>(trials_.size()) < limit_) return;
  what_ = fmt::format("{} trials in a row failed alike: {}", limit_, kind->words);
}

void SameFailure::Worked() {
  any_has_worked_ = true;
  trials_.clear();
  key_.clear();
  what_.clear();
}

}  // namespace slipway::ensemble
