/// How many descriptors a process may have open. Slipway holds several for each rank, node and trial; a program that
/// uses select() fails beyond 1024. So programs start with the soft limit that Slipway started with.
#pragma once

#include <cstdint>
#include <optional>

namespace slipway {

/// Raises the soft limit of this process to the hard one. Once, before there are threads.
void RaiseDescriptorLimit();

/// Gives this process the soft limit from before RaiseDescriptorLimit(): for one that is about to become a program.
/// What is open stays open. Neither allocates nor locks: a new process that still shares our memory may call it, and
/// changes its own limit only.
void ResetDescriptorLimit();

/// How many descriptors this process may still open, 2^30 at most. Nothing when the kernel does not say.
std::optional<std::int64_t> DescriptorsLeft();

}  // namespace slipway
