/// Changes of a run's spec by `slipway resume RUN --set`, and which of them are allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace slipway::launcher {

/// One field with two values, in the form of the resolved spec: durations in seconds, sizes in bytes.
struct FieldChange {
  std::string key;  ///< dotted path
  std::string before;
  std::string after;
  bool operator==(const FieldChange&) const = default;
};

/// The fields whose values differ, in the order of the spec; values as JSON text. A list is one change, and so is a
/// section that is added or removed.
std::vector<FieldChange> ChangesBetween(const Json& before, const Json& after);

/// "ensemble.trials 8 -> 16", "launch.time_limit none -> 20m00s".
std::string Describe(const FieldChange& change);

/// The value at a dotted path; null for one that leads nowhere, as a path through a list does.
const Json* ValueAt(const Json& values, std::string_view path);

/// KEY=VALUE for --set, so that the field gets its value `after`; nothing when it is to have none.
std::optional<std::string> OverrideFor(const FieldChange& change);

enum class RunKind {
  kSingle,
  kEnsemble,
  kEnsembleWithoutResults  ///< every trial that has begun has failed or was cancelled
};

/// Why a run that has begun cannot continue with another value of the field; nothing when it can. A single run
/// continues from its checkpoint, so its program must accept the change. An ensemble allows no change that makes later
/// trials different from those with results. The reason ends with the next step.
std::optional<std::string> WhyFixed(std::string_view key, RunKind kind);

}  // namespace slipway::launcher
