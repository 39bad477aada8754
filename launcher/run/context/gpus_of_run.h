/// Which GPUs of a node are measured for a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "launcher/ranks/local/node_devices.h"
#include "launcher/run/context/gpu_meter.h"
#include "launcher/run/context/gpu_watch.h"

namespace slipway::launcher {

struct Spec;
class Nodes;

/// A run, and where it is.
struct RunOnGpus {
  const Spec& spec;
  std::filesystem::path folder;
};

/// Of a node with these devices, the GPUs that the run was given: its own number of them with `launch.gpus_per_rank`,
/// of an ensemble all that its trials share. Without that field, all, if the environment names them (`named`).
///
/// If nothing names any, those that processes of the run use, without their energy: others may use them, too. The same
/// of a step's run without that field: it shares the GPUs of its workflow. GPUs that are not NVIDIA's are not measured.
/// Cost: for a folder that looks like a step's, a look for the run of its workflow.
GpusToMeasure GpusOfRun(const RunOnGpus& run, const NodeDevices& devices, bool named);

/// Whether a manager that may still open `descriptors` files can measure GPUs of `measured` of its `nodes`, and has
/// enough left for the ranks. Of an ensemble with `parallel: auto`, one trial a node counts. Pure.
bool GpuMetersFit(const Spec& spec, int nodes, int measured, std::int64_t descriptors);

/// Has the agents of all nodes that are not lost measure their GPUs of the run. `nodes` must outlive the result. Empty,
/// after a warning, where that takes descriptors from the run or fails. Cost: a process, a stream and two descriptors
/// for each node with such a GPU.
std::vector<GpusOfNode> MeasureGpusOfNodes(const RunOnGpus& run, Nodes& nodes);

/// Those of this node. `root`: another one for tests.
GpusToMeasure GpusOfRun(const RunOnGpus& run, const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
