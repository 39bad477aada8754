/// What the trial commands look at: the book of a run, with its trials ranked.
#pragma once

#include <filesystem>
#include <vector>

#include "ensemble/store/trial_book.h"
#include "launcher/commands/trials_documents.h"

namespace slipway::launcher {

struct TrialsView {
  ensemble::TrialBook book;
  ensemble::StudyRecord study;
  std::vector<RankedTrial> trials;  ///< as Rank orders them
  double now = 0;                   ///< seconds since 1970
};

/// Errors: kUsage for a folder without trials, kTryAgain before the ensemble has begun; the book's.
TrialsView OpenTrials(const std::filesystem::path& run_folder);

}  // namespace slipway::launcher
