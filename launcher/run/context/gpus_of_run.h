/// Which GPUs of a node are measured for a run.
#pragma once

#include <filesystem>
#include <vector>

#include "launcher/ranks/local/node_devices.h"
#include "launcher/run/context/gpu_meter.h"
#include "launcher/run/context/gpu_watch.h"

namespace slipway::launcher {

struct Spec;
class Nodes;

/// Of a node with these devices, the GPUs that the run was given: its own number of them with `launch.gpus_per_rank`,
/// of an ensemble all that its trials share. Without that field, all, if the environment names them (`named`).
///
/// If nothing names any and the node has exactly one NVIDIA GPU, that one; its energy is left out. GPUs that are not
/// NVIDIA's are not measured. Pure.
GpusToMeasure GpusOfRun(const Spec& spec, const NodeDevices& devices, bool named);

/// Has the agents of all nodes that are not lost measure their GPUs of the run. `nodes` must outlive the result. Cost:
/// a process and a stream for each node with such a GPU.
std::vector<GpusOfNode> MeasureGpusOfNodes(const Spec& spec, Nodes& nodes);

/// Those of this node. `root`: another one for tests.
GpusToMeasure GpusOfRun(const Spec& spec, const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
