#include "trainers/common/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include "trainers/common/usage_error.h"

namespace trainers {

namespace {

at::Device DeviceOf(const std::string& word, int local_rank) {
  if (word == "cpu") return at::kCPU;
  if (torch::cuda::is_available()) {
    const auto gpus = static_cast<int>(torch::cuda::device_count());
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank % gpus));
    c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
    return device;
  }
  if (word == "auto") return at::kCPU;
  throw UsageError(
      "--device cuda: torch sees no GPU: ask for one with launch.gpus_per_rank, use a torch that is built with CUDA, "
      "or leave the option out");
}

}  // namespace

at::Device ChosenDevice(const Arguments& arguments, int local_rank) {
  const auto device = DeviceOf(arguments.device, local_rank);
  if (arguments.precision == "fp16" && device.is_cpu()) {
    throw UsageError("--precision fp16: trains on GPUs only: give --precision bf16");
  }
  return device;
}

}  // namespace trainers
