#include "trainers/common/device.h"

#include <torch/cuda.h>

#include "trainers/common/usage_error.h"

namespace trainers {

at::Device ChosenDevice(const std::string& word, int local_rank) {
  if (word == "cpu") return at::kCPU;
  if (torch::cuda::is_available()) {
    const auto gpus = static_cast<int>(torch::cuda::device_count());
    return {at::kCUDA, static_cast<at::DeviceIndex>(local_rank % gpus)};
  }
  if (word == "auto") return at::kCPU;
  throw UsageError(
      "--device cuda: torch sees no GPU: ask for one with launch.gpus_per_rank, use a torch that is built with CUDA, or "
      "leave the option out");
}

}  // namespace trainers
