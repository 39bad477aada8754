#include "runtime/group/mpi_gpu_support.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace slipway::runtime {
namespace {

// MPIX_GPU_SUPPORT_* of MPICH's mpi.h.
constexpr int kCudaOfMpich = 0;
constexpr int kHipOfMpich = 2;
constexpr const char* kMpichQuery = "MPIX_GPU_query_support";
constexpr const char* kCrayVariable = "MPICH_GPU_SUPPORT_ENABLED";

/// Nothing where the process has no such function.
std::optional<bool> AskAboutOne(const char* function) {
  const auto query = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, function));
  if (query == nullptr) return std::nullopt;
  return query() != 0;
}

std::optional<bool> AskMpich(GpuMaker maker) {
  const auto query = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_DEFAULT, kMpichQuery));
  if (query == nullptr) return std::nullopt;
  int supported = 0;
  const int code = query(maker == GpuMaker::kNvidia ? kCudaOfMpich : kHipOfMpich, &supported);
  return code == 0 && supported != 0;
}

/// With 1, MPI_Init of Cray MPICH has failed where the library for GPUs is not linked.
std::optional<bool> AskCray() {
  const char* value = std::getenv(kCrayVariable);
  if (value == nullptr) return std::nullopt;
  return std::string_view(value) == "1";
}

}  // namespace

MpiGpuSupport AskMpiForGpuSupport(GpuMaker maker) {
  struct Answer {
    const char* source;
    std::optional<bool> takes;
  };
  const bool nvidia = maker == GpuMaker::kNvidia;
  const char* open_mpi = nvidia ? "MPIX_Query_cuda_support" : "MPIX_Query_rocm_support";
  const char* mpich_3 = "MPIX_Query_hip_support";
  const std::array answers = {Answer{open_mpi, AskAboutOne(open_mpi)}, Answer{kMpichQuery, AskMpich(maker)},
                              Answer{mpich_3, nvidia ? std::nullopt : AskAboutOne(mpich_3)},
                              Answer{kCrayVariable, AskCray()}};
  MpiGpuSupport support;
  for (const auto& [source, takes] : answers) {
    if (!takes || (!support.answered.empty() && !*takes)) continue;
    support = {*takes, source};
    if (support.takes) break;
  }
  return support;
}

}  // namespace slipway::runtime
