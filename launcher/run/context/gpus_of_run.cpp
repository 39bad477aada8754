#include "launcher/run/context/gpus_of_run.h"

#include <algorithm>

#include "core/descriptor_limit.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

std::vector<std::string> NvidiaGpus(const NodeDevices& devices) {
  for (const auto& list : devices.lists) {
    if (list.variable == "CUDA_VISIBLE_DEVICES") return list.names;
  }
  return {};
}

/// "ID", and of a trial with a job of its own "ID/trials/3": no two on a node have the same.
std::string NameOf(const std::filesystem::path& run) {
  const auto parent = run.parent_path();
  if (parent.filename() != "trials") return run.filename();
  return parent.parent_path().filename() / parent.filename() / run.filename();
}

/// RUN/steps/STEP/ID. A folder of runs may itself lie in one that is called "steps".
bool IsOfStep(const std::filesystem::path& run) {
  const auto steps = run.parent_path().parent_path();
  return steps.filename() == "steps" && Exists(steps.parent_path() / "state.json");
}

struct NodeWithGpus {
  int node;
  std::string name;
  GpusToMeasure gpus;
};

std::vector<NodeWithGpus> NodesWithGpus(const RunOnGpus& run, const Nodes& nodes) {
  std::vector<NodeWithGpus> found;
  for (int node = 0; node < nodes.count(); ++node) {
    const auto facts = nodes.FactsOf(node);
    auto gpus = GpusOfRun(run, facts.devices, facts.names_devices);
    if (!gpus.names.empty() && nodes.TroubleOf(node).empty()) found.push_back({node, facts.name, std::move(gpus)});
  }
  return found;
}

GpusOfNode Measure(Nodes& nodes, const NodeWithGpus& of) {
  auto lines = nodes.OpenGpuMeter(of.node, GpuArguments(of.gpus, BetweenGpuLines(nodes.count())));
  return {of.name, std::move(lines), [&nodes, node = of.node] { return !nodes.TroubleOf(node).empty(); }};
}

}  // namespace

GpusToMeasure GpusOfRun(const RunOnGpus& run, const NodeDevices& devices, bool named) {
  const auto& spec = run.spec;
  const auto all = NvidiaGpus(devices);
  const int wanted = spec.launch.gpus_per_rank * spec.launch.ranks_per_node;
  if (wanted > 0) {
    const bool shared = spec.ensemble || spec.launch.bind == Bind::kNone;
    return {shared ? all : NvidiaGpus(devices.Part(0, wanted))};
  }
  if (named && !IsOfStep(run.folder)) return {all};
  return {all, GpuMeasures::kUse, NameOf(run.folder)};  // by number, from 0: NVML counts the GPUs that it may use
}

bool GpuMetersFit(const Spec& spec, int nodes, int measured, std::int64_t descriptors) {
  constexpr int kStreamsOfNode = 2;  // to its supervisor and its monitor
  std::int64_t groups = nodes;       // of the ranks of one job on one node
  if (spec.ensemble && spec.ensemble->parallel) {
    groups = std::max<std::int64_t>(groups, std::int64_t{*spec.ensemble->parallel} * spec.launch.nodes_per_job);
  }
  const auto streams = groups * (kStreamsOfNode + spec.launch.ranks_per_node);
  const auto of_run = Nodes::kDescriptorsOfStream * streams + Nodes::kOtherDescriptors;
  const auto of_meters = Nodes::kDescriptorsOfStream * measured;
  return of_meters <= descriptors / 2 && of_meters + of_run <= descriptors;
}

/// The run matters more than this, so it gets the descriptors where they are few.
std::vector<GpusOfNode> MeasureGpusOfNodes(const RunOnGpus& run, Nodes& nodes) try {
  const auto wanted = NodesWithGpus(run, nodes);
  if (wanted.empty()) return {};
  const auto left = DescriptorsLeft().value_or(0);
  if (!GpuMetersFit(run.spec, nodes.count(), static_cast<int>(wanted.size()), left)) {
    log::Warn(
        "GPUs of {} nodes are not measured: the manager may open only {} more files; ask the administrator for a "
        "higher hard limit (ulimit -Hn)",
        wanted.size(), left);
    return {};
  }
  std::vector<GpusOfNode> measured;
  for (const auto& node : wanted) measured.push_back(Measure(nodes, node));
  return measured;
} catch (const Error& error) {
  log::Warn("GPUs of the nodes are not measured: {}", error.message());
  return {};
}

GpusToMeasure GpusOfRun(const RunOnGpus& run, const std::filesystem::path& root) {
  const bool named = NamesDevices(Environment::Inherited());
  return GpusOfRun(run, named ? DevicesOfThisNode() : DevicesOfSystem(root), named);
}

}  // namespace slipway::launcher
