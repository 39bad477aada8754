#include "runtime/status.h"

#include <atomic>
#include <new>
#include <system_error>

#include "core/error.h"
#include "core/memory_left.h"

namespace slipway::runtime {
namespace {

std::atomic<bool> has_given_up = false;

}  // namespace

void NoteGivingUp() noexcept { has_given_up = true; }

bool HasGivenUp() noexcept { return has_given_up; }

slipway_status StatusOf(const std::exception& error) {
  if (const auto* own = dynamic_cast<const RuntimeError*>(&error)) return own->status();
  const bool no_memory =
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr || dynamic_cast<const MemoryError*>(&error) != nullptr;
  if (no_memory) return SLIPWAY_ERROR_OUT_OF_MEMORY;
  const bool outside =
      dynamic_cast<const Error*>(&error) != nullptr || dynamic_cast<const std::system_error*>(&error) != nullptr;
  return outside ? SLIPWAY_ERROR_IO : SLIPWAY_ERROR_INTERNAL;
}

}  // namespace slipway::runtime
