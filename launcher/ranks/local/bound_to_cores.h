/// Binds the calling thread, and the processes it starts, to cores.
#pragma once

#include <sched.h>

#include <vector>

namespace slipway::launcher {

/// The cores that this thread may run on, in rising order.
std::vector<int> UsableCores();

/// While this object lives, the calling thread and what it starts run only on `cores`. With an empty list, or where the
/// system refuses (cores that are not ours), nothing changes: a trial on other cores is slower, not wrong.
class BoundToCores {
 public:
  explicit BoundToCores(const std::vector<int>& cores);
  BoundToCores(const BoundToCores&) = delete;
  BoundToCores& operator=(const BoundToCores&) = delete;
  ~BoundToCores();

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

}  // namespace slipway::launcher
