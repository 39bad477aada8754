#include "runtime/group/processor_share.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/control_groups.h"
#include "core/share_out.h"

namespace slipway::runtime {
namespace {

/// All of them where there are more than the set can hold.
cpu_set_t ProcessorsOfThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) std::memset(&set, 0xff, sizeof set);
  return set;
}

}  // namespace

int CountSetsThatMeet(std::span<const cpu_set_t> sets, const cpu_set_t& own) {
  return static_cast<int>(std::ranges::count_if(sets, [&](const cpu_set_t& set) {
    cpu_set_t common;
    CPU_AND(&common, &set, &own);
    return CPU_COUNT(&common) > 0;
  }));
}

ProcessorShare FindProcessorShare(Communicator& communicator, const Topology& topology) {
  const auto own = ProcessorsOfThread();
  const auto all = AllgatherValues(communicator, own);
  std::vector<cpu_set_t> of_node;
  for (const int rank : topology.local) of_node.push_back(all[static_cast<std::size_t>(rank)]);
  return {.processors = static_cast<int>(UsableProcessors()),
          .ranks_on_them = CountSetsThatMeet(of_node, own),
          .ranks_in_quota = topology.local_size()};
}

void LimitByShare(CombineThreads& threads, const ProcessorShare& share) {
  threads.Limit([limited = share]() mutable {
    limited.quota = ProcessorQuota();
    return MostCombineThreads(limited);
  });
}

}  // namespace slipway::runtime
