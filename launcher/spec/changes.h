/// What `slipway resume RUN --set` changes in a run's spec, and what it may change.
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

/// The fields whose values differ, in the order of the spec; values as JSON text. A section that comes or goes is one
/// change, and so is a list.
std::vector<FieldChange> ChangesBetween(const Json& before, const Json& after);

/// "ensemble.trials 8 -> 16", "launch.time_limit none -> 20m00s".
std::string Describe(const FieldChange& change);

enum class RunKind { kSingle, kEnsemble };

/// Why a run that has begun cannot go on with another value of the field; nothing when it can. What a single run may
/// change is for its program to take: it goes on from its checkpoint. In an ensemble nothing may change that would
/// make the finished trials others than those that follow. The reason ends with the next step.
std::optional<std::string> WhyFixed(std::string_view key, RunKind kind);

}  // namespace slipway::launcher
