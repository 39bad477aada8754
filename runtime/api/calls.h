/// What all of the C interface shares: the job, errors as codes and messages, arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/api/job.h"
#include "runtime/exchange/tensors.h"
#include "runtime/slipway.h"
#include "runtime/status.h"

namespace slipway::runtime {

/// Null outside of slipway_init and slipway_finalize. Not destroyed when the program exits without slipway_finalize:
/// MPI would then wait for ranks that may wait for this one. The process ends, and the launcher ends the others.
extern Job* job;
/// Of this thread's last call; empty when it was right.
extern thread_local std::string last_message;

int Remember(slipway_status status, const char* function, const char* message) noexcept;
/// The ranks are no longer at the same call. Other ranks may wait for this one, so the reason is reported to them.
int RememberParting(const PartedError& error, const char* function) noexcept;

/// Runs `body`; an exception becomes an error code and a message.
template <class Body>
int Guard(const char* function, Body body) noexcept {
  try {
    last_message.clear();
    body();
    return SLIPWAY_OK;
  } catch (const PartedError& error) {
    return RememberParting(error, function);
  } catch (const std::exception& error) {
    return Remember(StatusOf(error), function, error.what());
  } catch (...) {
    return Remember(SLIPWAY_ERROR_INTERNAL, function, "unknown exception");
  }
}

/// Errors: RuntimeError(STATE) outside of the job, and in a child made by fork().
Job& CurrentJob();
/// For calls that need the other ranks. Errors: also RuntimeError(STATE) when an earlier error has parted them.
Job& WholeJob();

/// Errors of all that follow: RuntimeError(ARGUMENT).
void RequireArgument(bool good, const std::string& message);
void RequireCount(std::int64_t count);
void RequireData(const void* data, std::int64_t count, const char* name);
/// What is combined in place must be combined once.
void RequireApart(const std::vector<TensorInfo>& tensors);
/// TakeTensors, refused on all ranks when one rank's list is wrong or differs. Collective.
std::vector<TensorInfo> TakeSameTensors(const std::string& call, const slipway_tensor* tensors, int count,
                                        Communicator& communicator);

}  // namespace slipway::runtime
