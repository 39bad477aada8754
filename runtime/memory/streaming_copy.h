/// Copies that leave the caches as they are.
#pragma once

#include <cstddef>

namespace slipway::runtime {

/// memcpy for memory that this core will not read soon: lines are written without being read before.
void StreamingCopy(void* to, const void* from, std::size_t bytes);

/// Whether this much memory, written one part after the other, has left the core's own cache before it is read.
bool OutgrowsTheCache(std::size_t bytes);

}  // namespace slipway::runtime
