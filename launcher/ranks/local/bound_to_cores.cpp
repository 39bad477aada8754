#include "launcher/ranks/local/bound_to_cores.h"

namespace slipway::launcher {

std::vector<int> UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

BoundToCores::BoundToCores(const std::vector<int>& cores) {
  CPU_ZERO(&before_);
  if (cores.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  bound_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
}

BoundToCores::~BoundToCores() {
  if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace slipway::launcher
