#include "launcher/view/accounting.h"

#include <algorithm>
#include <cmath>

#include "launcher/view/run_view.h"

namespace slipway::launcher {
namespace {

constexpr double kSecondsOfHour = 3600;
constexpr double kMuchIdle = 0.3;
constexpr double kMuchInput = 0.25;
constexpr double kMuchExchange = 0.3;

/// Seconds of each part; each part is taken from what is left.
class Ledger {
 public:
  explicit Ledger(double total) : left_(total) {}
  void Add(const char* part, double seconds) {
    const double taken = std::clamp(std::isfinite(seconds) ? seconds : 0, 0.0, left_);
    left_ -= taken;
    if (taken > 0) parts_.push_back({part, taken});
  }
  double left() const { return left_; }
  std::vector<AccountingPart> Close() {
    if (left_ > 0) parts_.push_back({"idle", left_});
    return std::move(parts_);
  }

 private:
  double left_;
  std::vector<AccountingPart> parts_;
};

double EndOf(const RunView& run, double now) { return run.ended.value_or(now); }

double SecondsIn(const RunView& run, std::string_view phase, double now) {
  double seconds = 0;
  for (const auto& span : run.phases) {
    if (span.phase == phase) seconds += std::max(0.0, span.to.value_or(EndOf(run, now)) - span.from);
  }
  return seconds;
}

/// From the begin of staging or of the first attempt, without the time in queues since then.
double HeldSeconds(const RunView& run, double now) {
  return SecondsIn(run, "staging", now) + SecondsIn(run, "running", now);
}

double FirstReport(const RunView& run, int attempt) {
  double first = 0;
  for (const auto& curve : run.curves) {
    if (curve.attempt != attempt || curve.time.empty() || curve.time.front() == 0) continue;
    first = first == 0 ? curve.time.front() : std::min(first, curve.time.front());
  }
  return first;
}

/// What an attempt that failed had done since its last checkpoint.
double LostSeconds(const RunView& run, const AttemptView& attempt) {
  if (!attempt.started || !attempt.ended || attempt.reason.empty()) return 0;
  double kept = *attempt.started;
  for (const auto& checkpoint : run.checkpoints) {
    if (checkpoint.time <= *attempt.ended) kept = std::max(kept, checkpoint.time);
  }
  return *attempt.ended - kept;
}

double MeanOf(const StepsView& steps, double RankSteps::*field) {
  double sum = 0;
  for (const auto& rank : steps.ranks) sum += rank.*field;
  return steps.ranks.empty() ? 0 : sum / static_cast<double>(steps.ranks.size());
}

void AddSingle(const RunView& run, Ledger& ledger) {
  for (const auto& attempt : run.attempts) {
    const double first = FirstReport(run, attempt.number);
    if (attempt.started && first > *attempt.started && !run.steps) ledger.Add("start", first - *attempt.started);
  }
  for (const auto& attempt : run.attempts) ledger.Add("lost", LostSeconds(run, attempt));
  double saving = 0;
  for (const auto& checkpoint : run.checkpoints) saving += checkpoint.seconds;
  ledger.Add("checkpoint", saving);
  if (!run.steps) return ledger.Add("compute", ledger.left());
  const auto count = static_cast<double>(run.steps->steps);
  ledger.Add("input", MeanOf(*run.steps, &RankSteps::input_s) * count);
  ledger.Add("wait", MeanOf(*run.steps, &RankSteps::wait_s) * count);
  ledger.Add("compute", MeanOf(*run.steps, &RankSteps::compute_s) * count);
  ledger.Add("start", ledger.left());
}

double SecondsOfTrials(const RunView& run, double now, bool failed) {
  double seconds = 0;
  const auto& trials = *run.trials;
  for (std::size_t i = 0; i < trials.number.size(); ++i) {
    if ((trials.state[i] == "failed" || trials.state[i] == "lost") != failed || !trials.started[i]) continue;
    seconds += std::max(0.0, trials.ended[i].value_or(EndOf(run, now)) - *trials.started[i]);
  }
  return seconds;
}

/// The trials that a node holds at a time are not known: their seconds are scaled to the most that ran at a time.
double MostAtATime(const RunView& run, double now) {
  std::vector<std::pair<double, int>> changes;
  for (std::size_t i = 0; i < run.trials->number.size(); ++i) {
    if (!run.trials->started[i]) continue;
    changes.push_back({*run.trials->started[i], 1});
    changes.push_back({run.trials->ended[i].value_or(EndOf(run, now)), -1});
  }
  std::ranges::sort(changes);
  int running = 0;
  int most = 1;
  for (const auto& [time, change] : changes) most = std::max(most, running += change);
  return most;
}

void AddTrialsOf(const RunView& run, double nodes, double now, Ledger& ledger) {
  const double scale = nodes / MostAtATime(run, now);
  ledger.Add("lost", SecondsOfTrials(run, now, true) * scale);
  ledger.Add("compute", SecondsOfTrials(run, now, false) * scale);
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
  if (ShareOf(accounting, "wait") > kMuchExchange) {
    return "ranks wait for each other: use fewer ranks, or larger batches";
  }
  return "";
}

}  // namespace

Accounting AccountFor(const RunView& run, const NodeShare& share, double now) {
  const auto nodes = static_cast<double>(std::max(1, run.nodes));
  Accounting accounting;
  accounting.queue_s = SecondsIn(run, "queued", now);
  accounting.node_seconds = nodes * HeldSeconds(run, now);
  Ledger ledger(accounting.node_seconds);
  ledger.Add("staging", nodes * SecondsIn(run, "staging", now));
  if (run.ensemble && run.trials) {
    AddTrialsOf(run, nodes, now, ledger);
  } else {
    Ledger of_one_node(ledger.left() / nodes);
    AddSingle(run, of_one_node);
    for (const auto& [part, seconds] : of_one_node.Close()) {
      if (part != "idle") ledger.Add(part.c_str(), seconds * nodes);
    }
  }
  accounting.parts = ledger.Close();
  accounting.node_hours = accounting.node_seconds / kSecondsOfHour;
  accounting.core_hours = accounting.node_hours * share.cores;
  accounting.gpu_hours = accounting.node_hours * share.gpus;
  accounting.advice = AdviceFor(run, accounting);
  return accounting;
}

}  // namespace slipway::launcher
