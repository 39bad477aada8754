/// A study as Optuna keeps it (storage of Optuna 3): values between Optuna's file and ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ensemble/model/records.h"

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

}  // namespace slipway::ensemble
