/// How many descriptors a process may have open. Slipway holds several for each rank, node and trial; a program that
/// uses select() fails beyond 1024. So children start with the soft limit that Slipway started with.
#pragma once

#include <mutex>

namespace slipway {

/// Raises the soft limit of this process to the hard one. Once, before there are threads.
void RaiseDescriptorLimit();

/// While one lives, this process has the soft limit from before RaiseDescriptorLimit(), for a child to inherit.
/// posix_spawn cannot set limits. What is open stays open; other threads can open nothing beyond that limit meanwhile.
class DescriptorLimitOfChildren {
 public:
  DescriptorLimitOfChildren();
  DescriptorLimitOfChildren(const DescriptorLimitOfChildren&) = delete;
  DescriptorLimitOfChildren& operator=(const DescriptorLimitOfChildren&) = delete;
  ~DescriptorLimitOfChildren();

 private:
  std::unique_lock<std::mutex> alone_;  ///< a child of another thread would inherit the other limit
};

}  // namespace slipway
