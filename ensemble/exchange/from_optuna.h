/// Trials of an Optuna study as trials of ours.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/exchange/optuna_trial.h"
#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

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
