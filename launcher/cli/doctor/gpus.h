/// Check "gpu exchange": the GPUs of this node, and how ranks would exchange what lies in their memory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/doctor/cuda_driver.h"
#include "launcher/cli/doctor/finding.h"
#include "launcher/spec/gpu_exchange.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

inline constexpr const char* kGpuExchange = "gpu exchange";

/// Of pinned memory, in bytes a second.
struct CopySpeeds {
  double to_gpu = 0;
  double from_gpu = 0;
  double both_ways = 0;  ///< the sum, both at once
};

/// What a call to the driver has answered.
struct Refusal {
  int code = 0;
  std::string name;  ///< "CUDA_ERROR_NOT_SUPPORTED (801)"
};

struct GpuFacts {
  std::string name;
  std::optional<GpuMemory> memory;
  std::optional<unsigned> processes;  ///< of all users, on it; nothing: unknown
  std::optional<Refusal> no_context;  ///< no program can use it; what follows is not known
  std::optional<CopySpeeds> copies;
  std::optional<Refusal> no_pinning;  ///< so copies were not measured
  std::optional<Refusal> no_copies;
  std::optional<Refusal> no_sharing;  ///< other ranks cannot reach its memory
  bool sums = false;                  ///< it can run the exchange's kernel
};

/// Between two GPUs, by CUDA's numbers.
struct PeerCopy {
  int from = 0;
  int to = 0;
  double bytes_per_s = 0;
  bool is_wrong = false;               ///< other bytes arrive than were sent
  std::optional<Refusal> failed = {};  ///< so it was not measured
};

struct GpuExchangeFacts {
  GpuExchangePlan planned;  ///< from the settings, as `plan` says it
  std::string asked_by = "SLIPWAY_GPU_EXCHANGE";
  std::string ask_less;       ///< how to take that setting back
  std::string wrong_setting;  ///< why it cannot be read; empty: it can
  bool has_driver = false;
  std::optional<Refusal> no_start;         ///< of the driver
  std::string version;                     ///< "12.4"
  std::string too_old;                     ///< what the driver lacks for any exchange; empty: nothing
  bool can_share = false;                  ///< the driver has what ranks need to reach each other's memory
  std::vector<GpuFacts> gpus;              ///< by CUDA's numbers
  std::vector<std::pair<int, int>> apart;  ///< GPUs that do not reach each other, the lower number first
  std::vector<PeerCopy> peer_copies;
  bool names_nccl = false;          ///< SLIPWAY_NCCL is set
  std::optional<std::string> nccl;  ///< its version; nothing: it cannot be used
  std::string no_nccl;              ///< why

  std::optional<std::filesystem::path> mps;  ///< as FolderOfMps()
};

/// Cost: without a driver almost nothing. Else a context on each GPU, up to a second each, and copies of 64 MiB, below
/// 0.2 s; from one GPU to another as much. The contexts end with the process. `spec`: of an experiment, with
/// `surroundings` of its ranks; their maker and variable are found here. Where NVIDIA's driver is missing or finds no
/// GPU, AMD's is looked for below `root`.
GpuExchangeFacts ProbeGpuExchange(const Spec& spec = {}, GpuSurroundings surroundings = {},
                                  const std::filesystem::path& root = "/");
/// Pure.
Findings Judge(const GpuExchangeFacts& facts);

}  // namespace slipway::launcher
