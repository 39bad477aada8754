/// What settings of an experiment do to the exchange of tensors in GPU memory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The fields whose values need the CPU between the ranks (core/cpu_work.h): `auto` is then staged. Pure.
std::vector<std::string> FieldsForTheCpu(const Spec& spec);

/// Why ranks refuse to exchange tensors in GPU memory by `way`; empty: they do not. Whether the GPUs reach each other
/// is known at the start only. Pure.
std::string WhyRefusedOnGpus(const Spec& spec, GpuExchange way);

enum class GpuMaker { kUnknown, kAmd };

/// From `gpu_type`, where AMD's GPUs are "mi250" and alike; without it from AMD's driver on this node, below `root`.
/// On a login node that may be another kind than that of the ranks.
GpuMaker MakerOfGpus(const LaunchSpec& launch, const std::filesystem::path& root = "/");

/// Whether the sums have the same bits in every run. Written into plan.json.
enum class GpuBits {
  kCpu,        ///< those of the exchange in CPU memory, which `deterministic` promises
  kRankOrder,  ///< in every run the same, but not those of the exchange in CPU memory
  kLibrary,    ///< NCCL's: on all ranks the same; not promised across its versions and links
  kMpi,        ///< they depend on the MPI
  kMeasured    ///< they depend on the way, which is chosen by time
};
WordTable<GpuBits> WordsOf(GpuBits);

/// What is known of tensors in GPU memory before the ranks start.
struct GpuExchangePlan {
  GpuExchange way = GpuExchange::kAuto;
  bool by_variable = false;  ///< SLIPWAY_GPU_EXCHANGE chose it
  std::string staged;        ///< why `auto` is staged: "because of clip_norm"; empty: the GPUs decide
  std::string refused;       ///< why ranks refuse `way`; empty: no setting is in the way
  bool measured = false;     ///< several ways are timed at the start
  bool in_nodes = false;     ///< among NCCL's ways is the one within nodes, with the CPU between them
  GpuMaker maker = GpuMaker::kUnknown;
  GpuBits bits = GpuBits::kCpu;
};

/// What is not in the experiment.
struct GpuSurroundings {
  int nodes = 1;
  bool cpu_adds_otherwise = false;  ///< on one node, by the table of algorithms: not in the order of the ranks
  GpuMaker maker = GpuMaker::kUnknown;
  std::optional<GpuExchange> variable;  ///< SLIPWAY_GPU_EXCHANGE
};

/// The way in force. `plan` and `doctor` say this. Pure.
GpuExchangePlan PlanGpuExchange(const Spec& spec, const GpuSurroundings& surroundings);

}  // namespace slipway::launcher
