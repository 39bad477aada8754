#include "launcher/plan/trials_at_a_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/process_identity.h"
#include "core/text.h"
#include "launcher/ranks/local/bound_to_cores.h"
#include "launcher/ranks/local/node_devices.h"

namespace slipway::launcher {
namespace {

using ensemble::AllocatedNode;
using ensemble::Need;

int Slots(const std::vector<AllocatedNode>& nodes, const Need& need) { return ensemble::Packer(nodes, need).Slots(); }

[[noreturn]] void RefuseForGpus(const Need& need, const std::vector<AllocatedNode>& nodes) {
  const auto text = [](const AllocatedNode& node) { return fmt::format("{} has {}", node.node, node.gpus.size()); };
  throw Error(ErrorKind::kEnvironment,
              fmt::format("a trial needs {} GPUs on {}, but {}", need.gpus,
                          need.nodes == 1 ? "a node" : fmt::format("each of {} nodes", need.nodes),
                          JoinEach(nodes, ", ", text)),
              "set launch.gpus_per_rank or launch.ranks_per_node lower, or ask for nodes with more GPUs; what a node "
              "has is what CUDA_VISIBLE_DEVICES and its like say there");
}

std::string LimitOf(const TrialsAtATime& fit, const Spec& spec) {
  const auto& parallel = spec.ensemble->parallel;
  if (fit.fewer_for_gpus) return fmt::format("the GPUs are the limit, parallel: {} is more", *parallel);
  if (parallel) return fmt::format("parallel: {} is the limit", *parallel);
  return fit.by_gpus <= fit.by_cores ? "the GPUs are the limit" : "the cores are the limit";
}

}  // namespace

Need NeedOf(const Spec& spec) {
  const auto& launch = spec.launch;
  return {launch.nodes_per_job, launch.ranks_per_node * launch.cpus_per_rank,
          launch.ranks_per_node * launch.gpus_per_rank};
}

TrialsAtATime FitTrials(const Spec& spec, const std::vector<AllocatedNode>& nodes) {
  const auto need = NeedOf(spec);
  TrialsAtATime fit;
  fit.by_cores = Slots(nodes, {need.nodes, need.cores, 0});
  fit.by_gpus = need.gpus == 0 ? std::numeric_limits<int>::max() : Slots(nodes, {need.nodes, 0, need.gpus});
  if (fit.by_gpus == 0) RefuseForGpus(need, nodes);
  const int with_their_own = Slots(nodes, need);
  const int wanted = spec.ensemble->parallel.value_or(std::max(1, with_their_own));
  fit.count = std::min(wanted, fit.by_gpus);
  fit.fewer_for_gpus = fit.count < wanted;
  fit.share_cores = fit.count > with_their_own;
  return fit;
}

AllocatedNode ThisMachine(const Spec& spec) {
  const auto devices = NeedOf(spec).gpus > 0 ? DevicesOfThisNode() : NodeDevices{};
  return {HostName(), UsableCores(), devices.names()};
}

std::string DescribeFit(const Spec& spec) {
  const auto need = NeedOf(spec);
  const auto machine = ThisMachine(spec);
  const auto fit = FitTrials(spec, {machine});
  auto text = fmt::format("{} at a time on this machine, each with ", fit.count);
  if (need.gpus > 0) {
    text += fmt::format("{} of its {} GPUs ({}) and ", need.gpus, machine.gpus.size(), DevicesOfThisNode().from);
  }
  text += fit.share_cores ? fmt::format("a share of its {} cores", machine.cores.size())
                          : fmt::format("{} of its {} cores", need.cores, machine.cores.size());
  return text + "; " + LimitOf(fit, spec);
}

}  // namespace slipway::launcher
