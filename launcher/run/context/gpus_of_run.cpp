#include "launcher/run/context/gpus_of_run.h"

#include "core/environment.h"
#include "core/error.h"
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

void MeasureGpusOf(const Spec& spec, Nodes& nodes, int node, std::vector<GpusOfNode>& measured) {
  const auto is_lost = [&nodes, node] { return !nodes.TroubleOf(node).empty(); };
  const auto facts = nodes.FactsOf(node);
  const auto gpus = GpusOfRun(spec, facts.devices, facts.names_devices);
  if (gpus.names.empty() || is_lost()) return;
  auto lines = nodes.OpenGpuMeter(node, GpuArguments(gpus, BetweenGpuLines(nodes.count())));
  measured.push_back({facts.name, std::move(lines), is_lost});
}

}  // namespace

GpusToMeasure GpusOfRun(const Spec& spec, const NodeDevices& devices, bool named) {
  const auto all = NvidiaGpus(devices);
  const int wanted = spec.launch.gpus_per_rank * spec.launch.ranks_per_node;
  if (wanted > 0) {
    const bool shared = spec.ensemble || spec.launch.bind == Bind::kNone;
    return {shared ? all : NvidiaGpus(devices.Part(0, wanted))};
  }
  if (named) return {all};
  if (all.size() != 1) return {};
  return {{"0"}, GpuMeasures::kUse};  // NVML counts the GPUs that it may use
}

/// The run matters more than this: without descriptors, the other nodes are not measured.
std::vector<GpusOfNode> MeasureGpusOfNodes(const Spec& spec, Nodes& nodes) {
  std::vector<GpusOfNode> measured;
  try {
    for (int node = 0; node < nodes.count(); ++node) MeasureGpusOf(spec, nodes, node, measured);
  } catch (const Error& error) {
    log::Warn("GPUs of {} of {} nodes are measured: {}", measured.size(), nodes.count(), error.message());
  }
  return measured;
}

GpusToMeasure GpusOfRun(const Spec& spec, const std::filesystem::path& root) {
  const bool named = NamesDevices(Environment::Inherited());
  return GpusOfRun(spec, named ? DevicesOfThisNode() : DevicesOfSystem(root), named);
}

}  // namespace slipway::launcher
