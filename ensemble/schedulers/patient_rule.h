/// The scheduler `patient`, and the setting `patience` of others: ends trials that no longer improve.
#pragma once

#include <memory>

#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// A trial ends when `patience` reports in succession brought no value below its lowest. With another rule inside it
/// ends only when that one says so, too.
///
/// Cost:   O(1) and 16 bytes a report.
/// Source: Prechelt: "Early stopping - but when?", 1998, its criterion UP, counted in reports.
class PatientRule : public Scheduler {
 public:
  /// `inner` may be null; it never pauses trials.
  PatientRule(SchedulerSettings settings, std::unique_ptr<Scheduler> inner);

  void Learn(const Report& report) override;
  Judgement Take(const Report& report) override;
  void Tell(TrialNumber trial, Decision decision) override;
  void End(TrialNumber trial, TrialState state) override;

 private:
  SchedulerSettings settings_;
  std::unique_ptr<Scheduler> inner_;
  Curves curves_;
};

}  // namespace slipway::ensemble
