/// A study as values of Optuna 3's storage, and the conversions from and to trials of Slipway.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ensemble/model/records.h"
#include "ensemble/space/domain.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Optuna's states. Its file has their words.
enum class OptunaState { kRunning, kComplete, kPruned, kFail, kWaiting };
WordTable<OptunaState> WordsOf(OptunaState);

/// `value`: Optuna's internal number: a float, an integer, or the index in the choices of a categorical.
struct OptunaParameter {
  std::string name;
  double value = 0;
  std::string distribution;  ///< JSON text, e.g. {"name": "FloatDistribution", "attributes": {...}}
};

/// Name and JSON text.
using OptunaAttributes = std::vector<std::pair<std::string, std::string>>;

struct OptunaTrial {
  std::int64_t number = 0;
  OptunaState state = OptunaState::kWaiting;
  std::optional<double> started;  ///< seconds since 1970; Optuna's file holds local time
  std::optional<double> ended;
  std::vector<OptunaParameter> parameters;
  std::vector<double> values;                            ///< of the objectives; may be infinite
  std::vector<std::pair<std::int64_t, double>> reports;  ///< step and value, which may be NaN or infinite
  OptunaAttributes user_attributes;
  OptunaAttributes system_attributes;
};

struct OptunaStudy {
  std::string name;
  std::vector<Goal> goals;  ///< of the objectives
  OptunaAttributes user_attributes;
  OptunaAttributes system_attributes;
};

/// The JSON text of a distribution. `uniform` and `log` become FloatDistribution; `int` and `int_log`
/// IntDistribution; `choice`, `ordinal` and `fixed` CategoricalDistribution. Stepped ranges end at their last value, as
/// Optuna requires.
std::string OptunaDistribution(const Domain& domain);

/// The number that Optuna stores for a value of the domain: the number itself or, for categorical ones, its index.
/// Integers beyond 2^53 are rounded, as in Optuna. `value` must belong to the domain.
double OptunaNumber(const Domain& domain, const Scalar& value);

/// The inverse: the value of an internal number in a distribution. Nothing for text that is no distribution of Optuna
/// 3, and for numbers that the distribution cannot have stored.
std::optional<Scalar> FromOptunaNumber(std::string_view distribution, double number);

/// The study for Optuna, under `name`. Names of metrics and the space become attributes.
OptunaStudy ToOptuna(const StudyRecord& study, std::string name);

/// One trial with its reports of the first objective. If several attempts reported a step, the latest one counts. An
/// objective with `reach` has no reports: they would be of another quantity.
///
/// States: claimed, waiting and running trials become RUNNING; cancelled and failed ones FAIL. Queued, paused and lost
/// ones become WAITING, with fixed parameters and without reports: so Optuna stores trials that it runs from the
/// beginning.
/// With one objective, a pruned trial has its last value, as in Optuna. The user attributes slipway_trial,
/// slipway_attempt, slipway_state and slipway_reason hold what Optuna has no field for.
OptunaTrial ToOptuna(const TrialRecord& trial, const StudyRecord& study, const SearchSpace& space,
                     const std::vector<MetricRecord>& metrics);

/// A trial that ran and ended elsewhere. It has no attempt here.
struct ImportedTrial {
  std::int64_t number = 0;                   ///< in its original study
  Point parameters;                          ///< in the order of the space
  TrialState state = TrialState::kComplete;  ///< complete, pruned or failed
  std::optional<double> objective;           ///< finite
  std::vector<double> further;               ///< of complete trials; finite
  std::string reason;                        ///< why it failed or was pruned
  std::optional<double> started;             ///< seconds since 1970
  std::optional<double> ended;
};

struct Imported {
  std::vector<ImportedTrial> trials;
  /// For each reason, the number of trials that were left out.
  std::map<std::string, std::int64_t> left_out;
};

/// Maps every parameter into the space. A trial is left out if it:
///   - is not over;
///   - has a parameter that is not in the space, or a value outside of it;
///   - lacks the value of an active parameter (fixed ones may be missing);
///   - breaks a constraint.
/// A complete trial with an infinite value becomes a failed one: values of complete trials are finite here.
/// Errors: Error(kUsage) when number or directions of the study's objectives differ from `objectives`.
Imported FromOptuna(const OptunaStudy& study, const std::vector<OptunaTrial>& trials, const SearchSpace& space,
                    const std::vector<Objective>& objectives);

}  // namespace slipway::ensemble
