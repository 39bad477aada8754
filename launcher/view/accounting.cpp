#include "launcher/view/accounting.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "launcher/view/run_view.h"

namespace slipway::launcher {
namespace {

constexpr double kMuchIdle = 0.3;
constexpr double kMuchInput = 0.25;
constexpr double kMuchExchange = 0.3;

/// Seconds of each part; each part is taken from what is left.
class Ledger {
 public:
  explicit Ledger(double total) : left_(std::max(0.0, total)) {}
  void Add(const std::string& part, double seconds) {
    const double taken = std::clamp(std::isfinite(seconds) ? seconds : 0, 0.0, left_);
    left_ -= taken;
    if (taken > 0) Take(part, taken);
  }
  /// More time, of which nothing is taken yet.
  void Widen(double seconds) { left_ += seconds; }
  double left() const { return left_; }
  const std::vector<AccountingPart>& Taken() const { return parts_; }
  /// What is left is idle.
  std::vector<AccountingPart> Close() {
    if (left_ > 0) Take("idle", left_);
    return std::move(parts_);
  }

 private:
  void Take(const std::string& part, double seconds) {
    const auto found = std::ranges::find(parts_, part, &AccountingPart::part);
    if (found != parts_.end()) {
      found->node_seconds += seconds;
    } else {
      parts_.push_back({part, seconds});
    }
  }

  double left_;
  std::vector<AccountingPart> parts_;
};

double SecondsIn(const RunView& run, std::string_view phase, double now) {
  double seconds = 0;
  for (const auto& span : run.phases) {
    if (span.phase == phase) seconds += std::max(0.0, span.to.value_or(EndOf(run, now)) - span.from);
  }
  return seconds;
}

/// Without the time in queues, and without the time in which there was no manager.
double HeldSeconds(const RunView& run, double now) {
  return SecondsIn(run, "staging", now) + SecondsIn(run, "running", now);
}

std::optional<double> FirstReport(const RunView& run, int attempt) {
  std::optional<double> first;
  for (const auto& curve : run.curves) {
    if (curve.attempt != attempt || curve.time.empty() || curve.time.front() == 0) continue;
    first = std::min(first.value_or(curve.time.front()), curve.time.front());
  }
  return first;
}

/// One attempt of a single run. What it had done up to `kept` counts.
struct AttemptTimes {
  double from = 0;
  double kept = 0;
  double to = 0;
};

/// Of an attempt that did not end well, what followed its last checkpoint is lost.
AttemptTimes TimesOf(const RunView& run, const AttemptView& attempt, double now) {
  AttemptTimes times;
  times.from = *attempt.started;
  times.to = std::max(times.from, attempt.ended.value_or(EndOf(run, now)));
  times.kept = times.to;
  if (attempt.reason.empty()) return times;
  times.kept = times.from;
  for (const auto& checkpoint : run.checkpoints) {
    if (checkpoint.time <= times.to) times.kept = std::max(times.kept, checkpoint.time);
  }
  return times;
}

struct WaitShares {
  double exchange = 0;
  double others = 0;
};

/// Every rank waits for the exchange; the ranks that wait longer than the one that waits least wait for slower ranks.
WaitShares WaitsOf(const StepsView& steps) {
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& rank : steps.ranks) {
    least = std::min(least, rank.wait_s);
    sum += rank.wait_s;
  }
  if (steps.ranks.empty()) return {};
  return {least, sum / static_cast<double>(steps.ranks.size()) - least};
}

double MeanOf(const StepsView& steps, double RankSteps::*field) {
  double sum = 0;
  for (const auto& rank : steps.ranks) sum += rank.*field;
  return steps.ranks.empty() ? 0 : sum / static_cast<double>(steps.ranks.size());
}

void AddSteps(const StepsView& steps, Ledger& ledger) {
  const auto count = static_cast<double>(steps.steps);
  const auto waits = WaitsOf(steps);
  ledger.Add("input", MeanOf(steps, &RankSteps::input_s) * count);
  ledger.Add("exchange", waits.exchange * count);
  ledger.Add("wait", waits.others * count);
  ledger.Add("compute", MeanOf(steps, &RankSteps::compute_s) * count);
}

/// What is neither a step nor before the first one is computing, too: evaluation, results.
void AddAttempt(const RunView& run, const AttemptView& attempt, double now, Ledger& ledger) {
  const auto times = TimesOf(run, attempt, now);
  Ledger of_attempt(std::min(times.to - times.from, ledger.left()));
  of_attempt.Add("lost", times.to - times.kept);
  for (const auto& checkpoint : run.checkpoints) {
    if (checkpoint.time > times.from && checkpoint.time <= times.kept) of_attempt.Add("checkpoint", checkpoint.seconds);
  }
  const auto first = FirstReport(run, attempt.number);
  const bool has_steps = run.steps && attempt.number == run.attempt;
  if (has_steps) AddSteps(*run.steps, of_attempt);
  const double before_steps = first ? std::max(0.0, *first - times.from) : 0;
  of_attempt.Add("start", has_steps && !first ? of_attempt.left() : before_steps);
  of_attempt.Add("compute", of_attempt.left());
  for (const auto& [part, seconds] : of_attempt.Close()) ledger.Add(part, seconds);
}

// ---- ensembles

double SecondsOf(const TrialSpan& trial, const RunView& run, double now) {
  return std::max(0.0, trial.ended.value_or(EndOf(run, now)) - trial.started) * std::max(1, trial.nodes);
}

double SecondsOfTrials(const RunView& run, double now, bool lost) {
  double seconds = 0;
  for (const auto& trial : run.trial_spans) seconds += trial.lost == lost ? SecondsOf(trial, run, now) : 0;
  return seconds;
}

/// Trials may share a node, and how many do is not recorded: nodes count as full while the most trials run.
double MostAtATime(const RunView& run, double now) {
  std::vector<std::pair<double, int>> changes;
  for (const auto& trial : run.trial_spans) {
    const int nodes = std::max(1, trial.nodes);
    const double end = trial.ended.value_or(EndOf(run, now));
    if (end <= trial.started) continue;
    changes.emplace_back(trial.started, nodes);
    changes.emplace_back(end, -nodes);
  }
  std::ranges::sort(changes);
  int running = 0;
  int most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, running += change);
  return most;
}

void AddTrialsOf(const RunView& run, double nodes, double now, Ledger& ledger) {
  const double scale = nodes / std::max(nodes, MostAtATime(run, now));
  ledger.Add("lost", SecondsOfTrials(run, now, true) * scale);
  ledger.Add("compute", SecondsOfTrials(run, now, false) * scale);
}

Accounting OfJobsOfTrials(const RunView& run, double now) {
  Accounting accounting;
  const double lost = SecondsOfTrials(run, now, true);
  accounting.node_seconds = lost + SecondsOfTrials(run, now, false);
  Ledger ledger(accounting.node_seconds);
  ledger.Add("lost", lost);
  ledger.Add("compute", ledger.left());
  accounting.parts = ledger.Close();
  return accounting;
}

Accounting OfHeldNodes(const RunView& run, const NodeShare& share, double now) {
  const auto nodes = static_cast<double>(std::max(1, run.nodes));
  const double held = HeldSeconds(run, now);
  Accounting accounting;
  accounting.node_seconds = (nodes + std::max(0, share.spare_nodes)) * held;
  Ledger ledger(nodes * held);
  ledger.Add("staging", nodes * SecondsIn(run, "staging", now));
  if (run.ensemble) {
    AddTrialsOf(run, nodes, now, ledger);
  } else {
    Ledger of_one_node(ledger.left() / nodes);
    for (const auto& attempt : run.attempts) {
      if (attempt.started) AddAttempt(run, attempt, now, of_one_node);
    }
    for (const auto& [part, seconds] : of_one_node.Taken()) ledger.Add(part, seconds * nodes);
  }
  ledger.Widen(std::max(0, share.spare_nodes) * held);
  accounting.parts = ledger.Close();
  return accounting;
}

double ShareOf(const Accounting& accounting, std::string_view part) {
  double seconds = 0;
  for (const auto& each : accounting.parts) seconds += each.part == part ? each.node_seconds : 0;
  return accounting.node_seconds > 0 ? seconds / accounting.node_seconds : 0;
}

std::string AdviceFor(const RunView& run, const Accounting& accounting) {
  if (HasEnded(run.phase) && ShareOf(accounting, "idle") > kMuchIdle && run.ensemble) {
    return "nodes were idle: use fewer nodes, or more trials at a time";
  }
  if (ShareOf(accounting, "input") > kMuchInput) {
    return "ranks wait for input: stage the data to a faster tier, or use more reader threads";
  }
  if (ShareOf(accounting, "wait") + ShareOf(accounting, "exchange") > kMuchExchange) {
    return "ranks wait for each other: use fewer ranks, or larger batches";
  }
  return "";
}

void TakeHours(const NodeShare& share, Accounting& accounting) {
  accounting.node_hours = accounting.node_seconds / kSecondsOfHour;
  accounting.core_hours = accounting.node_hours * share.cores;
  accounting.gpu_hours = accounting.node_hours * share.gpus;
}

}  // namespace

double LastSign(const RunView& run) {
  double last = run.created.value_or(0);
  const auto take = [&](double time) { last = std::max(last, time); };
  for (const auto& span : run.phases) take(span.to.value_or(span.from));
  for (const auto& attempt : run.attempts) take(attempt.ended.value_or(0));
  for (const auto& checkpoint : run.checkpoints) take(checkpoint.time);
  for (const auto& curve : run.curves) take(curve.time.empty() ? 0 : curve.time.back());
  for (const auto& trial : run.trial_spans) take(trial.ended.value_or(trial.started));
  return last;
}

double EndOf(const RunView& run, double now) {
  if (run.ended) return *run.ended;
  return HasEnded(run.phase) ? LastSign(run) : now;
}

Accounting AccountFor(const RunView& run, const NodeShare& share, double now) {
  auto accounting = share.trials_are_jobs && run.ensemble ? OfJobsOfTrials(run, now) : OfHeldNodes(run, share, now);
  accounting.queue_s = SecondsIn(run, "queued", now);
  TakeHours(share, accounting);
  accounting.advice = AdviceFor(run, accounting);
  return accounting;
}

Accounting AccountForProgram(double seconds, const NodeShare& share, bool lost) {
  Ledger ledger(seconds);
  Accounting accounting;
  accounting.node_seconds = ledger.left();
  ledger.Add(lost ? "lost" : "compute", seconds);
  accounting.parts = ledger.Close();
  TakeHours(share, accounting);
  return accounting;
}

Accounting SumOf(std::span<const Accounting> all) {
  Accounting sum;
  for (const auto& each : all) {
    sum.node_seconds += each.node_seconds;
    sum.queue_s += each.queue_s;
    sum.node_hours += each.node_hours;
    sum.core_hours += each.core_hours;
    sum.gpu_hours += each.gpu_hours;
    sum.energy += each.energy;
  }
  Ledger ledger(std::numeric_limits<double>::infinity());
  for (const auto& each : all) {
    for (const auto& [part, seconds] : each.parts) ledger.Add(part, seconds);
  }
  sum.parts = ledger.Taken();
  return sum;
}

}  // namespace slipway::launcher
