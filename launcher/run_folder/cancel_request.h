/// The wish that a run end whose job has no number yet: left in its folder, found by who submits it or by the job.
#pragma once

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: SystemError.
void RequestCancel(const RunFolder& folder);
bool IsCancelRequested(const RunFolder& folder);
void WithdrawCancelRequest(const RunFolder& folder);

/// The wish was found: the run is cancelled. Errors: SystemError.
void CancelWhileSubmitted(const RunFolder& folder);

}  // namespace slipway::launcher
