#include "ensemble/schedulers/patient_rule.h"

#include <fmt/format.h>

namespace slipway::ensemble {

PatientRule::PatientRule(SchedulerSettings settings, std::unique_ptr<Scheduler> inner)
    : settings_(std::move(settings)), inner_(std::move(inner)) {}

void PatientRule::Learn(const Report& report) {
  curves_[report.trial].Add(report.resource, report.value);
  if (inner_) inner_->Learn(report);
}

Judgement PatientRule::Take(const Report& report) {
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

void PatientRule::Tell(TrialNumber trial, Decision decision) {
  if (inner_) inner_->Tell(trial, decision);
}

void PatientRule::End(TrialNumber trial, TrialState state) {
  if (state == TrialState::kComplete || state == TrialState::kPruned) curves_.Release(trial);
  if (inner_) inner_->End(trial, state);
}

}  // namespace slipway::ensemble
