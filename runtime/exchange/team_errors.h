/// How errors leave the threads of a team, and operations of all ranks.
#pragma once

#include <exception>
#include <string>

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

/// Runs `action`, which throws on all ranks or on none. False where a GPU has no memory left for it: the ranks can do
/// without. Errors: all others.
template <class Action>
bool FitsIntoGpus(Action action) {
  try {
    action();
    return true;
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError& error) {
    if (error.status() != SLIPWAY_ERROR_OUT_OF_MEMORY) throw;
    return false;
  }
}

/// Runs `action`, which throws on all ranks or on none. Why it cannot be done, where the ranks can do without; empty:
/// it was. Errors: PartedError.
template <class Action>
std::string WhyNot(Action action) {
  try {
    action();
    return "";
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError& error) {
    return error.what();
  }
}

/// Runs `action`; an error of the device leaves the other ranks in the exchange, so it becomes a PartedError.
template <class Action>
void Parting(Action action) {
  try {
    action();
  } catch (const DeviceError& error) {
    throw PartedError(error);
  }
}

/// Runs `action`. After a PartedError nothing is freed on GPUs any more: the others' may still use what this rank
/// shares with them. Errors: those of `action`.
template <class Action>
void FreeNothingIfParted(Action action) {
  try {
    action();
  } catch (const PartedError&) {
    NoteGivingUp();
    throw;
  }
}

}  // namespace slipway::runtime
