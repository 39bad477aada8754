/// Other load of the machine, made on purpose.
#pragma once

#include <sys/types.h>

#include <vector>

namespace slipway::bench {

/// Processes that do nothing but use a processor each, from the constructor to the destructor. They end with this
/// process, whatever ends it.
class BusyLoops {
 public:
  explicit BusyLoops(int count);
  ~BusyLoops();
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  void End() noexcept;
  std::vector<pid_t> processes_;
};

}  // namespace slipway::bench
