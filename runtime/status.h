/// Errors inside the runtime: an exception with the code that the C interface returns.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/slipway.h"

namespace slipway::runtime {

class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(slipway_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  slipway_status status() const { return status_; }

 private:
  slipway_status status_;
};

/// An error after which the ranks are in different places: none of them can go on together.
class PartedError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  explicit PartedError(const RuntimeError& error) : RuntimeError(error) {}
};

/// This rank no longer waits for the others, and its process is to end. What it has given a GPU may wait for one of
/// them for ever. So nothing that a GPU may still use is freed from now on: the driver would wait, too. Any thread.
void NoteGivingUp() noexcept;
bool HasGivenUp() noexcept;

/// The code for any exception: its own, IO for what core and the file system throw, out of memory, or internal.
slipway_status StatusOf(const std::exception& error);

}  // namespace slipway::runtime
