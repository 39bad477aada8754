/// Imports trials that ran elsewhere into a trial book.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/exchange/optuna.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// The number of imported configurations of a study. They add to its budget.
std::int64_t CountImported(const std::vector<TrialRecord>& trials);

struct ImportCount {
  std::int64_t added = 0;
  std::int64_t known = 0;  ///< skipped: the book has their configuration, or all its repeats are used
};

/// Adds the trials whose configuration is not in the book. So a second import of the same file changes nothing.
/// The study's budget grows by the added configurations, because they cost nothing here. Trials of one configuration
/// become its repeats, complete ones first. Trials beyond the repeats are skipped; repeats without a trial are
/// cancelled.
/// Cost:   one commit for the trials.
/// Errors: those of the book, whose study must exist.
ImportCount ImportTrials(TrialBook& book, const std::vector<ImportedTrial>& trials, double now);

}  // namespace slipway::ensemble
