/// How many ranks the launcher of this process started, by its environment; for when MPI knows better, or worse.
#pragma once

namespace slipway::runtime {

/// Refuses a rank that MPI takes for a lone one (`ranks` is 1) while its launcher started several: MPI was not reached
/// through the interface that this launcher offers, and every rank would train alone, silently.
/// Errors: RuntimeError: MPI, naming both and the next step.
void RequireStartedRanks(int ranks);

}  // namespace slipway::runtime
