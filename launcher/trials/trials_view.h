/// The content of a trial book, for the commands that show it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/store/trial_book.h"
#include "launcher/trials/trials_documents.h"

namespace slipway::launcher {

struct TrialsView {
  ensemble::TrialBook book;
  ensemble::StudyRecord study;
  std::vector<RankedTrial> trials;  ///< ranked first, then the others by number; what is gone is lost (MarkLost)
  double now = 0;                   ///< seconds since 1970
};

/// Errors: those of TrialBook::OpenForReading; kTryAgain when the ensemble has not begun.
TrialsView OpenTrials(const std::filesystem::path& run_folder);

/// In the order of their numbers.
std::vector<ensemble::TrialRecord> RecordsByNumber(const TrialsView& view);

/// "trials/00007": where a trial lies in its run folder.
std::filesystem::path TrialFolder(ensemble::TrialNumber trial);

/// A number with at most six digits; "-" for none.
std::string NumberCell(const std::optional<double>& number);

}  // namespace slipway::launcher
