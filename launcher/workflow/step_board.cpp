#include "launcher/workflow/step_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using enum StepState;

/// Our own promise: who calls knows the state.
void Require(bool allowed, const Step& step, StepState from, StepState to) {
  if (allowed) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("step '{}' is {} and cannot become {}", step.name, WordOf(from), WordOf(to)));
}

}  // namespace

WordTable<StepState> WordsOf(StepState) {
  static constexpr Word<StepState> kWords[] = {
      {kWaiting, "waiting", "for other steps"},
      {kReady, "ready", "waits for free cores, GPUs or memory"},
      {kRunning, "running", ""},
      {kDone, "done", "its result is published"},
      {kReused, "reused", "an earlier run has published the same result"},
      {kSkipped, "skipped", "its condition, or that of a step before, is false"},
      {kFailed, "failed", ""},
      {kBlocked, "blocked", "a step that it needs has failed"},
      {kCancelled, "cancelled", ""}};
  return kWords;
}

bool IsFinal(StepState state) { return state != kWaiting && state != kReady && state != kRunning; }
bool HasResult(StepState state) { return state == kDone || state == kReused; }

StepBoard::StepBoard(const Workflow& workflow)
    : workflow_(workflow), states_(workflow.steps.size(), kWaiting), left_(workflow.steps.size()) {
  for (const auto& needs : workflow.needs) missing_.push_back(needs.size());
  for (StepIndex step = 0; step < states_.size(); ++step) {
    if (missing_[step] == 0) Enter(step, kReady);
  }
}

std::vector<StepIndex> StepBoard::TakeReady() { return std::exchange(ready_, {}); }

void StepBoard::Start(StepIndex step) {
  Require(states_[step] == kReady, workflow_.steps[step], states_[step], kRunning);
  states_[step] = kRunning;
}

void StepBoard::Retry(StepIndex step) {
  Require(states_[step] == kRunning, workflow_.steps[step], states_[step], kReady);
  states_[step] = kReady;
}

std::vector<StepIndex> StepBoard::Settle(StepIndex step, StepState state) {
  Require(!IsFinal(states_[step]) && IsFinal(state), workflow_.steps[step], states_[step], state);
  Enter(step, state);
  if (HasResult(state)) {
    for (const auto next : workflow_.dependants[step]) {
      if (--missing_[next] == 0 && states_[next] == kWaiting) Enter(next, kReady);
    }
    return {};
  }
  if (state == kCancelled) return {};
  std::vector<StepIndex> entered;
  std::vector<StepIndex> open{step};
  while (!open.empty()) {
    const auto from = open.back();
    open.pop_back();
    for (const auto next : workflow_.dependants[from]) {
      if (states_[next] != kWaiting) continue;
      Enter(next, state == kSkipped ? kSkipped : kBlocked);
      entered.push_back(next);
      open.push_back(next);
    }
  }
  std::ranges::sort(entered);
  return entered;
}

void StepBoard::CancelTheRest() {
  for (StepIndex step = 0; step < states_.size(); ++step) {
    if (states_[step] == kWaiting || states_[step] == kReady) Enter(step, kCancelled);
  }
}

int StepBoard::CountOf(StepState state) const { return static_cast<int>(std::ranges::count(states_, state)); }

void StepBoard::Enter(StepIndex step, StepState state) {
  if (IsFinal(state)) --left_;
  if (state == kReady) ready_.push_back(step);
  states_[step] = state;
}

}  // namespace slipway::launcher
