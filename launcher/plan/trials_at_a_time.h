/// How many trials of an ensemble fit on nodes at a time, and the limiting resource.
#pragma once

#include <string>
#include <vector>

#include "ensemble/model/packer.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The resources of one trial.
ensemble::Need NeedOf(const Spec& spec);

struct TrialsAtATime {
  int count = 1;
  int by_cores = 0;             ///< how many have cores of their own
  int by_gpus = 0;              ///< how many have GPUs of their own; unlimited when they need none
  bool share_cores = false;     ///< they have none of their own: the user wants more than the cores allow
  bool fewer_for_gpus = false;  ///< the user wants more than the GPUs allow, which are never shared
};

/// The number of trials with cores and GPUs of their own, or the user's number; those may share cores. Pure.
/// Errors: Error(kEnvironment) with the GPUs of each node, when no trial can ever have its GPUs.
TrialsAtATime FitTrials(const Spec& spec, const std::vector<ensemble::AllocatedNode>& nodes);

/// This machine as a node for trials. Cost: looks for the devices when trials need some.
ensemble::AllocatedNode ThisMachine(const Spec& spec);

/// "4 at a time on this machine, each with 1 of its 4 GPUs (...) and 2 of its 8 cores; the GPUs are the limit".
std::string DescribeFit(const Spec& spec);

}  // namespace slipway::launcher
