/// Short ways to speak with a scheduler in tests.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Settings of a type; the goal is to minimize, so that reasons show the values as they are given.
inline SchedulerSettings SettingsOf(std::string type) {
  SchedulerSettings settings;
  settings.type = std::move(type);
  settings.goal = Goal::kMinimize;
  settings.trials = 1000;
  return settings;
}

/// Trials 0, 1, ... in these states.
inline TrialTable TableOf(const std::vector<TrialState>& states) {
  std::vector<TrialRecord> rows(states.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].number = static_cast<TrialNumber>(i);
    rows[i].state = states[i];
  }
  return TrialTable(std::move(rows));
}

/// What a trial book would hold: of each trial and resource the last value.
class ReportRows {
 public:
  void Add(const Report& report) { rows_[{report.trial, report.resource}] = report.value; }
  std::vector<Report> Ordered() const {
    std::vector<Report> reports;
    reports.reserve(rows_.size());
    for (const auto& [key, value] : rows_) reports.push_back({key.first, key.second, value});
    return reports;
  }

 private:
  std::map<std::pair<TrialNumber, double>, double> rows_;
};

/// Reports `values` of a trial at the resources 1, 2, ...; the last judgement.
inline Judgement TakeAll(Scheduler& scheduler, TrialNumber trial, const std::vector<double>& values) {
  Judgement last;
  for (std::size_t i = 0; i < values.size(); ++i) {
    last = scheduler.Take({trial, static_cast<double>(i + 1), values[i]});
  }
  return last;
}

}  // namespace slipway::ensemble
