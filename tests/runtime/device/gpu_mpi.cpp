#include "tests/runtime/device/gpu_mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::fake_gpu_mpi {
namespace {

using namespace fake_gpu;  // the driver's entries

std::atomic<int> answer = 1;
std::atomic<bool> spoiled = false;
std::atomic<bool> dies = false;
std::atomic<std::uint64_t> calls = 0;

bool IsOfGpu(const void* data) {
  constexpr int kMemoryType = 2;
  constexpr unsigned kDevice = 2;
  unsigned type = 0;
  const auto address = reinterpret_cast<DevicePointer>(data);
  return cuPointerGetAttribute(&type, kMemoryType, address) == kSuccess && type == kDevice;
}

int AddUpOnGpu(void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm communicator) {
  ++calls;
  if (dies) ::_exit(0);
  void* context = nullptr;
  if (cuCtxGetCurrent(&context) != kSuccess || context == nullptr) return MPI_ERR_OTHER;
  int element = 0;
  MPI_Type_size(type, &element);
  const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(element);
  fake_gpu_host_access(data, bytes, FAKE_GPU_WRITE);
  auto* shadow = static_cast<char*>(fake_gpu_shadow(reinterpret_cast<DevicePointer>(data), bytes, FAKE_GPU_WRITE));
  if (shadow == nullptr) return MPI_ERR_BUFFER;
  const int code = PMPI_Allreduce(MPI_IN_PLACE, shadow, count, type, op, communicator);
  if (spoiled) shadow[0] = static_cast<char>(shadow[0] ^ 1);
  return code;
}

}  // namespace
}  // namespace slipway::fake_gpu_mpi

#pragma GCC visibility push(default)
extern "C" {

void fake_gpu_mpi_answer(int takes) { slipway::fake_gpu_mpi::answer = takes; }
void fake_gpu_mpi_spoil() { slipway::fake_gpu_mpi::spoiled = true; }
void fake_gpu_mpi_die() { slipway::fake_gpu_mpi::dies = true; }
std::uint64_t fake_gpu_mpi_calls() { return slipway::fake_gpu_mpi::calls; }

int MPIX_Query_cuda_support() { return slipway::fake_gpu_mpi::answer; }
int MPIX_Query_rocm_support() { return slipway::fake_gpu_mpi::answer; }

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm communicator) {
  using namespace slipway::fake_gpu_mpi;
  if (send != MPI_IN_PLACE || !IsOfGpu(receive)) return PMPI_Allreduce(send, receive, count, type, op, communicator);
  return AddUpOnGpu(receive, count, type, op, communicator);
}

}  // extern "C"
#pragma GCC visibility pop
