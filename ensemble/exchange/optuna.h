/// A study as Optuna keeps it (storage of Optuna 3): values between Optuna's file and ours.
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

/// Optuna's states, stored in its file as RUNNING, COMPLETE, PRUNED, FAIL and WAITING.
enum class OptunaState { kRunning, kComplete, kPruned, kFail, kWaiting };
std::string_view OptunaStateName(OptunaState state);
std::optional<OptunaState> ParseOptunaState(std::string_view word);

/// `value` is Optuna's internal number: that of a float or an integer, or the place in a categorical's choices.
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

/// The JSON text of a distribution. `uniform` and `log` become FloatDistribution, `int` and `int_log`
/// IntDistribution; `choice`, `ordinal` and `fixed` CategoricalDistribution. Optuna wants stepped ranges to end at
/// their last value, so they do.
std::string OptunaDistribution(const Domain& domain);

/// What Optuna stores for a value of the domain: the number itself or, of categorical ones, its index. Integers beyond
/// 2^53 are rounded, as Optuna does it. `value` must be one of the domain's.
double OptunaNumber(const Domain& domain, const Scalar& value);

/// The inverse: the value that a distribution and an internal number mean. Nothing for text that is no distribution of
/// Optuna 3, and for numbers that it cannot have stored.
std::optional<Scalar> FromOptunaNumber(std::string_view distribution, double number);

/// `name` is the study's in Optuna. The metrics' names and the space go along as attributes.
OptunaStudy ToOptuna(const StudyRecord& study, std::string name);

/// One trial with its reports of the first objective; where several attempts reported a step, the latest one counts.
/// Where the objective is the time until a value is reached, reports would be of another quantity: there are none.
///
/// States: claimed, waiting and running trials are RUNNING, cancelled and failed ones FAIL. Queued and paused ones are
/// WAITING with fixed parameters and without reports, which is how Optuna keeps trials that it will run from their
/// beginning. A pruned trial has its last value, if there is one objective, as Optuna does it. The user attributes
/// slipway_trial, slipway_attempt, slipway_state and slipway_reason say what Optuna has no place for.
OptunaTrial ToOptuna(const TrialRecord& trial, const StudyRecord& study, const SearchSpace& space,
                     const std::vector<MetricRecord>& metrics);

/// A trial that is over, run elsewhere: it has had no attempt here.
struct ImportedTrial {
  std::int64_t number = 0;                   ///< in the study that it comes from
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
  /// Why trials were left out, and how many for each reason.
  std::map<std::string, std::int64_t> left_out;
};

/// Maps every parameter into the space. A trial is left out when it is not over, has a parameter that the space does
/// not have, a value outside of it, lacks a value that an active parameter needs, or breaks a constraint; fixed
/// parameters may be missing. A complete trial with an infinite value failed: ours are finite. Directions and number of
/// the objectives must be those of `objectives`. Errors: Error(kUsage) when the study's objectives are others.
Imported FromOptuna(const OptunaStudy& study, const std::vector<OptunaTrial>& trials, const SearchSpace& space,
                    const std::vector<Objective>& objectives);

}  // namespace slipway::ensemble
