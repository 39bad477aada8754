/// Agreement: an error on one rank becomes the same error on all, so that no rank waits for one that has left.
#pragma once

#include <functional>
#include <string>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// Runs `action` on every rank; it must not communicate. When it throws on any rank, all ranks throw a RuntimeError.
/// Its code and text are those of the lowest such rank, and the text names that rank, by its number in the job.
/// Collective.
/// A PartedError of `action` leaves this rank alone, at once: it can agree with no other any more, and the watch of the
/// others names it.
///
/// Cost: one allreduce of 8 bytes.
void OnAllRanks(Communicator& communicator, const std::function<void()>& action);

/// Whether it holds on all ranks. Collective.
bool OnEveryRank(Communicator& communicator, bool holds);

/// Runs `action`, which must not communicate, on rank 0; its text, or its error, reaches all ranks. Collective.
std::string OnFirstRank(Communicator& communicator, const std::function<std::string()>& action);

/// `own`: the version of the library on this rank. Errors: RuntimeError(MISMATCH) on all ranks, naming both versions,
/// when it is not that of rank 0. Collective.
void RequireSameVersion(Communicator& communicator, const std::string& own);

}  // namespace slipway::runtime
