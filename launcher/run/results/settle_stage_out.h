/// Copies out what a run left in a tier, then removes it there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/results/stage_out_record.h"

namespace slipway {
class Output;
}

namespace slipway::launcher {

/// The result for one place.
struct SettledPlace {
  std::optional<int> trial;
  staging::OutReport report;
};

struct SettledStageOut {
  std::vector<SettledPlace> places;
  /// The first, or all results that cannot be copied. The directory then stays, with all that is not copied out.
  std::optional<Error> failure;
};

/// The run's program must have ended. `options` apply to each copy; without a limit in them, the record's limit
/// applies. Afterwards directory and record are gone, unless a copy failed. Errors: Error(kInterrupted) when cancelled;
/// SystemError where the tier's directory cannot be removed.
SettledStageOut SettleStageOut(const RunFolder& folder, StageOutRecord record, staging::StageOutOptions options);

/// Says which checkpoints are torn, why, and where their copies are.
void WarnOfTorn(const SettledStageOut& settled, Output& output);

/// Records in events.jsonl what was copied out, or why not.
void RecordReport(const RunFolder& folder, std::optional<int> trial, const staging::OutReport& report);

}  // namespace slipway::launcher
