/// How errors leave the threads of a team, and operations of all ranks.
#pragma once

#include <exception>

#include "runtime/device/driver.h"

namespace slipway::runtime {

/// What `action` throws, if it does.
template <class Action>
std::exception_ptr ErrorOf(Action action) {
  try {
    action();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// An error of all ranks after which they can do without what it was about: a GPU has no memory left.
inline bool MeansNoMemory(const RuntimeError& error) { return error.status() == SLIPWAY_ERROR_OUT_OF_MEMORY; }

/// Runs `action`; an error of the device leaves the other ranks in the exchange, so it becomes a PartedError.
template <class Action>
void Parting(Action action) {
  try {
    action();
  } catch (const DeviceError& error) {
    throw PartedError(error);
  }
}

}  // namespace slipway::runtime
