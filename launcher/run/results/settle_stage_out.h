/// Copies out what a run has left in a tier, and then removes it there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/results/stage_out_record.h"

namespace slipway::launcher {

/// What became of one place.
struct SettledPlace {
  std::optional<int> trial;
  staging::OutReport report;
};

struct SettledStageOut {
  std::vector<SettledPlace> places;
  std::optional<Error> failure;  ///< the first; then the directory stays, with all that is not copied out
};

/// For a run without a living program. `options` apply to each copy; without a limit of theirs, that of the record
/// does. Afterwards directory and record are gone, unless something failed. Errors: Error(kInterrupted) when cancelled;
/// SystemError where the tier's directory cannot be removed.
SettledStageOut SettleStageOut(const RunFolder& folder, StageOutRecord record, staging::StageOutOptions options);

/// Writes what was copied out, or why not, into events.jsonl.
void RecordReport(const RunFolder& folder, std::optional<int> trial, const staging::OutReport& report);

}  // namespace slipway::launcher
