#include "launcher/run/context/gpus_of_run.h"

#include <algorithm>

#include "core/environment.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

NodeDevices DevicesGivenTo(const Spec& spec) {
  const int wanted = spec.launch.gpus_per_rank * spec.launch.ranks_per_node;
  if (wanted == 0) return DevicesNamedIn(Environment::Inherited());
  const auto all = DevicesOfThisNode();
  return spec.ensemble || spec.launch.bind == Bind::kNone ? all : all.Part(0, wanted);
}

std::vector<std::string> NvidiaGpus(const NodeDevices& devices) {
  for (const auto& list : devices.lists) {
    if (list.variable == "CUDA_VISIBLE_DEVICES") return list.names;
  }
  return {};
}

bool NamesDevices(const Environment& environment) {
  return std::ranges::any_of(kDeviceVariables, [&](const auto& name) { return environment.Get(name).has_value(); });
}

}  // namespace

GpusToMeasure GpusOfRun(const Spec& spec, const std::filesystem::path& root) {
  if (spec.launch.gpus_per_rank > 0 || NamesDevices(Environment::Inherited())) {
    return {NvidiaGpus(DevicesGivenTo(spec))};
  }
  if (NvidiaGpus(DevicesOfSystem(root)).size() != 1) return {};
  return {{"0"}, GpuMeasures::kUse};  // NVML counts the GPUs that it may use
}

}  // namespace slipway::launcher
