/// Trials that ran elsewhere become trials of a book.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/exchange/from_optuna.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// TrialRecord::origin of imported trials.

/// How many configurations of a study were imported: they come on top of its budget.
std::int64_t CountImported(const std::vector<TrialRecord>& trials);

struct ImportCount {
  std::int64_t added = 0;
  std::int64_t known = 0;  ///< passed over: the book had their configuration before
};

/// Adds all that the book does not know by its configuration, so that importing a file twice changes nothing. The
/// study's budget grows by as many: they cost nothing here. Where configurations are repeated, an imported trial is the
/// first run of its configuration, and the other runs are cancelled.
/// Cost: one commit for the trials. Errors: those of the book, whose study must exist.
ImportCount ImportTrials(TrialBook& book, const std::vector<ImportedTrial>& trials, double now);

}  // namespace slipway::ensemble
