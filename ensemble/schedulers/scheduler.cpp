#include "ensemble/schedulers/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/schedulers/asha.h"
#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/hyperband.h"
#include "ensemble/schedulers/percentile_rule.h"
#include "ensemble/schedulers/population.h"

namespace slipway::ensemble {

WordTable<Decision> WordsOf(Decision) {
  static constexpr Word<Decision> kWords[] = {
      {Decision::kContinue, "continue"}, {Decision::kStop, "stop"}, {Decision::kPause, "pause"}};
  return kWords;
}

namespace {

/// The schedulers `none` and `wilcoxon`: every trial runs to its end.
class NeverStop : public Scheduler {
 public:
  void Learn(const Report& /*report*/) override {}
  Judgement Take(const Report& /*report*/) override { return {}; }
  void End(TrialNumber /*trial*/, TrialState /*state*/) override {}
};

/// From the resource `min` on, ends a trial at a value that is below `lower`, above `upper` or not finite. It has no
/// state: a repeated report is judged like any other.
class ThresholdRule : public Scheduler {
 public:
  explicit ThresholdRule(SchedulerSettings settings) : settings_(std::move(settings)) {}

  void Learn(const Report& /*report*/) override {}
  Judgement Take(const Report& report) override {
    if (report.resource < settings_.min) return {};
    const double value = settings_.goal == Goal::kMaximize ? -report.value : report.value;
    const auto stop = [&](const std::string& reason) {
      const auto what = DescribeValue(report.value, settings_.goal);
      return Judgement{Decision::kStop, fmt::format("at {:.6g}: {}{}", report.resource, what, reason), std::nullopt};
    };
    if (!std::isfinite(value)) return stop("");
    if (settings_.lower && value < *settings_.lower) return stop(fmt::format(" is below {:.6g}", *settings_.lower));
    if (settings_.upper && value > *settings_.upper) return stop(fmt::format(" is above {:.6g}", *settings_.upper));
    return {};
  }

  void End(TrialNumber /*trial*/, TrialState /*state*/) override {}

 private:
  SchedulerSettings settings_;
};

/// Ends a trial when `patience` reports in succession brought no value below its lowest. With another rule inside, the
/// trial ends only if that rule agrees.
///
/// Cost:   O(1) and 16 bytes a report.
/// Source: Prechelt: "Early stopping - but when?", 1998, its criterion UP, counted in reports.
class PatientRule : public Scheduler {
 public:
  /// `inner` may be null; it never pauses trials.
  PatientRule(SchedulerSettings settings, std::unique_ptr<Scheduler> inner)
      : settings_(std::move(settings)), inner_(std::move(inner)) {}

  void Learn(const Report& report) override {
    curves_[report.trial].Add(report.resource, report.value);
    if (inner_) inner_->Learn(report);
  }

  Judgement Take(const Report& report) override {
    Curve& curve = curves_[report.trial];
    const bool is_further = curve.Add(report.resource, report.value);
    Judgement judgement = inner_ ? inner_->Take(report) : Judgement{Decision::kStop, {}, {}};
    if (judgement.decision != Decision::kStop || !is_further || report.resource < settings_.min) return {};
    const auto waited = static_cast<std::ptrdiff_t>(curve.CountSinceBest());
    if (waited < settings_.patience) return {};
    const auto stale = fmt::format("at {:.6g}: {} reports without improvement", report.resource, waited);
    judgement.reason = judgement.reason.empty() ? stale : fmt::format("{}; {}", judgement.reason, stale);
    return judgement;
  }

  void Tell(TrialNumber trial, Decision decision) override {
    if (inner_) inner_->Tell(trial, decision);
  }

  void End(TrialNumber trial, TrialState state) override {
    if (state == TrialState::kComplete || state == TrialState::kPruned) curves_.Release(trial);
    if (inner_) inner_->End(trial, state);
  }

 private:
  SchedulerSettings settings_;
  std::unique_ptr<Scheduler> inner_;
  Curves curves_;
};

[[noreturn]] void Refuse(std::string message, std::string next_step = {}) {
  throw Error(ErrorKind::kUsage, "scheduler: " + std::move(message), std::move(next_step));
}

void CheckRungs(const SchedulerSettings& settings) {
  if (!(settings.min > 0))
    Refuse(fmt::format("'min' must be above 0, not {:.6g}", settings.min),
           "set 'min' to the resource of the first rung, such as 1");
  if (settings.reduction < 2)
    Refuse(fmt::format("'reduction' must be at least 2, not {}", settings.reduction),
           "set 'reduction' to 2 or more; 3 is common");
  if (!settings.max) return;
  if (!std::isfinite(*settings.max) || RungResources(settings.min, settings.max, settings.reduction).size() < 2) {
    Refuse(fmt::format("no rung lies between 'min' {:.6g} and 'max' {:.6g} with 'reduction' {}", settings.min,
                       *settings.max, settings.reduction),
           "make 'min' smaller or 'max' larger, so that trials can be compared before their end");
  }
}

void CheckNothing(const SchedulerSettings& /*settings*/) {}

void CheckHyperband(const SchedulerSettings& settings) {
  if (!settings.max) Refuse("hyperband needs 'max', the resource of a whole trial", "set 'max'");
  CheckRungs(settings);
}

void CheckPercentile(const SchedulerSettings& settings) {
  if (!(settings.percentile > 0 && settings.percentile < 100)) {
    Refuse(fmt::format("'percentile' must lie between 0 and 100, not be {:.6g}", settings.percentile),
           "set 'percentile', such as 25");
  }
  if (settings.startup < 1)
    Refuse(fmt::format("'startup' must be at least 1, not {}", settings.startup), "set 'startup' to 1 or more");
}

void CheckPatient(const SchedulerSettings& settings) {
  if (settings.patience < 1)
    Refuse("patient needs 'patience', a number of reports without improvement", "set 'patience', such as 5");
}

void CheckThreshold(const SchedulerSettings& settings) {
  if (!settings.lower && !settings.upper) Refuse("threshold needs 'lower' or 'upper'", "set one of them, or both");
  if (settings.lower && settings.upper && !(*settings.lower <= *settings.upper)) {
    Refuse(fmt::format("'lower' {:.6g} is above 'upper' {:.6g}", *settings.lower, *settings.upper),
           "swap the two numbers");
  }
}

void CheckPopulation(const SchedulerSettings& settings) {
  const int members = PopulationSize(settings);
  if (!(settings.interval > 0))
    Refuse("pbt needs 'interval', the resource between two checks", "set 'interval', such as 1");
  if (!(settings.quantile > 0 && settings.quantile <= 0.5)) {
    Refuse(fmt::format("'quantile' must be above 0 and at most 0.5, not {:.6g}", settings.quantile),
           "set 'quantile', such as 0.25");
  }
  if (members < 2) Refuse("pbt needs a population of at least 2 trials", "set 'parallel' to 2 or more");
  if (members > settings.parallel) {
    Refuse(fmt::format("the population of {} cannot run at once: 'parallel' is {}", members, settings.parallel),
           "set 'population' to at most 'parallel'");
  }
}

void CheckRepeats(const SchedulerSettings& settings) {
  if (!(settings.p_value > 0 && settings.p_value < 1)) {
    Refuse(fmt::format("'p_value' must lie between 0 and 1, not be {:.6g}", settings.p_value),
           "set 'p_value', such as 0.05");
  }
}

template <class Rule>
std::unique_ptr<Scheduler> Make(const SchedulerSettings& settings) {
  return std::make_unique<Rule>(settings);
}

std::unique_ptr<Scheduler> MakeNeverStop(const SchedulerSettings& /*settings*/) {
  return std::make_unique<NeverStop>();
}

struct SchedulerEntry {
  std::string_view name;
  bool takes_patience;
  void (*check)(const SchedulerSettings& settings);
  std::unique_ptr<Scheduler> (*make)(const SchedulerSettings& settings);
};

const SchedulerEntry kSchedulers[] = {
    {"none", false, CheckNothing, MakeNeverStop},
    {"median", true, CheckPercentile,
     [](const SchedulerSettings& settings) -> std::unique_ptr<Scheduler> {
       return std::make_unique<PercentileRule>(settings, 50);
     }},
    {"percentile", true, CheckPercentile,
     [](const SchedulerSettings& settings) -> std::unique_ptr<Scheduler> {
       return std::make_unique<PercentileRule>(settings, settings.percentile);
     }},
    {"patient", true, CheckPatient, [](const SchedulerSettings&) { return std::unique_ptr<Scheduler>(); }},
    {"threshold", true, CheckThreshold, Make<ThresholdRule>},
    {"asha", false, CheckRungs, MakeAsha},
    {"hyperband", false, CheckHyperband, MakeHyperband},
    {"pbt", false, CheckPopulation, Make<Population>},
    {"wilcoxon", false, CheckRepeats, MakeNeverStop},
};

void CheckCommon(const SchedulerSettings& settings, const SchedulerEntry& entry) {
  if (!(settings.interval >= 0))
    Refuse(fmt::format("'interval' must not be negative, not {:.6g}", settings.interval),
           "set 'interval' to 0 or more");
  if (settings.patience < 0)
    Refuse(fmt::format("'patience' must not be negative, not {}", settings.patience), "set 'patience' to 0 or more");
  if (settings.patience > 0 && !entry.takes_patience) {
    Refuse(fmt::format("'patience' does not go with '{}'", entry.name),
           "it belongs to 'patient', 'median', 'percentile' and 'threshold'");
  }
}

/// "1, 3 and 9"
std::string PausesOf(const std::vector<double>& resources) {
  std::string text;
  for (std::size_t i = 0; i + 1 < resources.size(); ++i) {
    text += fmt::format("{}{:.6g}", i == 0 ? "" : i + 2 == resources.size() ? " and " : ", ", resources[i]);
  }
  return text;
}

/// The part of `trials` that the bracket with all rungs gets.
double FirstBracketShare(const SchedulerSettings& settings, std::size_t rungs, std::int64_t trials) {
  return settings.type == "hyperband" ? BracketSharesOf(trials, rungs, settings.reduction).front() : 1;
}

}  // namespace

void Scheduler::Restore(const std::vector<Report>& reports, const TrialTable& trials,
                        const std::map<TrialNumber, Decision>& told) {
  auto next = reports.begin();
  for (const auto& trial : trials.trials()) {
    if (trial.origin == kImportedOrigin) Imported(trial.number);
    for (; next != reports.end() && next->trial == trial.number; ++next) Learn(*next);
    End(trial.number, trial.state);
  }
  for (const auto& [trial, decision] : told) Tell(trial, decision);
}

const std::vector<std::string>& SchedulerNames() {
  static const auto names = [] {
    std::vector<std::string> all;
    for (const auto& entry : kSchedulers) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

std::optional<std::string> WhyTooFewTrials(const SchedulerSettings& settings) {
  const bool has_rungs = settings.type == "asha" || settings.type == "hyperband";
  if (!has_rungs || !settings.max) return std::nullopt;
  const auto resources = RungResources(settings.min, settings.max, settings.reduction);
  const double wanted = std::pow(settings.reduction, resources.size() - 1);
  const auto enough_at = [&](std::int64_t trials) {
    // Shares are fractions: 49 * (27 / 49) may miss 27 by a rounding.
    return std::ceil(wanted / FirstBracketShare(settings, resources.size(), trials) * (1 - 1e-12));
  };
  if (static_cast<double>(settings.trials) >= enough_at(settings.trials)) return std::nullopt;
  return fmt::format(
      "{} pauses trials at {}, and one in {:.0f} comes to {:.6g}: of {} only the leader of each rung goes on; {:.0f} "
      "trials would do, or a larger 'min'",
      settings.type, PausesOf(resources), wanted, *settings.max, settings.trials,
      enough_at(std::numeric_limits<std::int64_t>::max()));
}

std::unique_ptr<Scheduler> MakeScheduler(const SchedulerSettings& settings) {
  const auto* entry = std::ranges::find(kSchedulers, settings.type, &SchedulerEntry::name);
  if (entry == std::end(kSchedulers)) {
    Refuse(fmt::format("unknown type '{}'{}", settings.type, SuggestWord(settings.type, SchedulerNames())));
  }
  CheckCommon(settings, *entry);
  entry->check(settings);
  auto scheduler = entry->make(settings);
  if (settings.patience == 0) return scheduler;
  return std::make_unique<PatientRule>(settings, std::move(scheduler));
}

}  // namespace slipway::ensemble
