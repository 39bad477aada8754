/// Trials that ran elsewhere become trials of a book.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/exchange/optuna.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// TrialRecord::origin of imported trials.

/// How many configurations of a study were imported: they come on top of its budget.
std::int64_t CountImported(const std::vector<TrialRecord>& trials);

struct ImportCount {
  std::int64_t added = 0;
  std::int64_t known = 0;  ///< passed over: all runs of their configuration are there
};

/// Adds all that the book does not know by its configuration, so that importing a file twice changes nothing. The
/// study's budget grows by their configurations: they cost nothing here. Trials of one configuration become its
/// repeats, complete ones first; what is beyond them is passed over, and repeats that nobody ran are cancelled. Cost:
/// one commit for the trials. Errors: those of the book, whose study must exist.
ImportCount ImportTrials(TrialBook& book, const std::vector<ImportedTrial>& trials, double now);

}  // namespace slipway::ensemble
