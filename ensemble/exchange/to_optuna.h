/// Trials of a book as Optuna would have kept them.
#pragma once

#include <string>
#include <vector>

#include "ensemble/exchange/optuna_trial.h"
#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// `name` is the study's in Optuna. The metrics' names and the space go along as attributes.
OptunaStudy ToOptuna(const StudyRecord& study, std::string name);

/// One trial with its reports of the first objective; where several attempts reported a step, the latest one counts.
/// Where the objective is the time until a value is reached, reports would be of another quantity: there are none.
///
/// States: claimed and running trials are RUNNING, cancelled and failed ones FAIL. Queued and paused ones are WAITING
/// with fixed parameters and without reports, which is how Optuna keeps trials that it will run from their beginning.
/// A pruned trial has its last value, if there is one objective, as Optuna does it. The user attributes slipway_trial,
/// slipway_attempt, slipway_state and slipway_reason say what Optuna has no place for.
OptunaTrial ToOptuna(const TrialRecord& trial, const StudyRecord& study, const SearchSpace& space,
                     const std::vector<MetricRecord>& metrics);

}  // namespace slipway::ensemble
