/// What a rank may use of the processors of its node.
#pragma once

#include <sched.h>

#include <span>

#include "runtime/group/topology.h"
#include "runtime/reduction/combine_threads.h"

namespace slipway::runtime {

/// How many of `sets` have a processor in common with `own`.
int CountSetsThatMeet(std::span<const cpu_set_t> sets, const cpu_set_t& own);

/// Of the calling thread, without a quota. Processors that several ranks may use count for each of them: an overlap in
/// one makes the shares smaller than they could be. Collective over `communicator`, whose ranks on the node are those
/// of `topology`.
ProcessorShare FindProcessorShare(Communicator& communicator, const Topology& topology);

/// `threads` may be as many as `share` and the quota of the control groups allow. The quota is read when they are first
/// measured: most jobs never need it.
void LimitByShare(CombineThreads& threads, const ProcessorShare& share);

}  // namespace slipway::runtime
