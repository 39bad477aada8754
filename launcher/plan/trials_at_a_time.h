/// How many trials of an ensemble fit into nodes at a time, and what limits that.
#pragma once

#include <string>
#include <vector>

#include "ensemble/model/packer.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// Of one trial.
ensemble::Need NeedOf(const Spec& spec);

struct TrialsAtATime {
  int count = 1;
  int by_cores = 0;             ///< so many have cores of their own
  int by_gpus = 0;              ///< so many have GPUs of their own; where they need none, any number
  bool share_cores = false;     ///< they have none of their own: the user wants more than there are cores for
  bool fewer_for_gpus = false;  ///< the user wants more than there are GPUs for, which are never shared
};

/// As many as have cores and GPUs of their own, or as many as the user says; those may share cores. Pure.
/// Errors: Error(kEnvironment) naming what each node has when no trial would ever have its GPUs.
TrialsAtATime FitTrials(const Spec& spec, const std::vector<ensemble::AllocatedNode>& nodes);

/// This machine as the trials find it. Cost: looks for the devices when trials need some.
ensemble::AllocatedNode ThisMachine(const Spec& spec);

/// "4 at a time on this machine, each with 1 of its 4 GPUs (...) and 2 of its 8 cores; the GPUs are the limit".
std::string DescribeFit(const Spec& spec);

}  // namespace slipway::launcher
