/// The request to cancel a run whose job has no number yet. It lies in the run folder, for the submitting process or
/// the job.
#pragma once

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: SystemError.
void RequestCancel(const RunFolder& folder);
bool IsCancelRequested(const RunFolder& folder);
void WithdrawCancelRequest(const RunFolder& folder);

/// Cancels the run after the request was found. Errors: SystemError.
void CancelWhileSubmitted(const RunFolder& folder);

}  // namespace slipway::launcher
