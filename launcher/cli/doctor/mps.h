/// NVIDIA's Multi-Process Service (MPS), under which programs that share a GPU compute at the same time.
#pragma once

#include <filesystem>
#include <optional>

namespace slipway::launcher {

/// The folder where a control daemon of MPS listens to the programs of this environment; nothing: none does.
///
/// It is CUDA_MPS_PIPE_DIRECTORY, else /tmp/nvidia-mps, and has a socket `control`. The daemon does not notice: no
/// connection is made.
/// Source: NVIDIA, Multi-Process Service, "Environment Variables". bench/gpu/gpu_bench.py does the same.
std::optional<std::filesystem::path> FolderOfMps();

}  // namespace slipway::launcher
