/// Who combines the tensors of a team that lie on GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/settings.h"
#include "runtime/exchange/without_direct.h"

namespace slipway::runtime {

/// How long a message took, of the slowest rank.
struct MeasuredWay {
  CombineWay way;
  double milliseconds = 0;
};

struct GpuWay {
  std::unique_ptr<CombinedTensors> tensors;     ///< with their buckets; null: the CPU combines
  std::vector<MeasuredWay> measured;            ///< empty: there was nothing to choose from
  std::optional<WithoutDirect> without_direct;  ///< why the GPUs do not combine, where they were to
  std::string without_nccl;                     ///< why NCCL was no candidate although it may be; empty: it was
  std::string without_mpi;                      ///< the same of MPI on memory of GPUs
};

/// What a team asks for.
struct GpuTask {
  DevicePlace place;
  std::span<const TensorInfo> tensors;
  const TeamSettings& settings;
  std::optional<CpuWork> not_plain;  ///< who has to see the values besides the exchange itself
  std::int64_t bucket_bytes = 0;     ///< PlanBuckets() of what GPUs combine
  const std::string& team;
};

/// The way that the settings name, or with `auto` the GPUs of the node where they can. NCCL and MPI add up in orders of
/// their own: they are candidates only where any bits are good, NCCL only where no rank has another user of it
/// (NcclUse::Alone()), and MPI only where it has worked before. Of several candidates, the fastest with a message of
/// the team's size. With `auto`, the CPU combines where it does not add up in the order of the ranks
/// (CpuAddsInOrderOfRanks()), unless any bits are good. Collective.
/// Cost:   with several candidates about a second, and 32 MiB of the GPU, once.
/// Errors: RuntimeError(ARGUMENT, DEVICE, OUT_OF_MEMORY) on all ranks when the settings name a way that cannot be used.
///         With `auto`, a GPU without memory is a reason for another way. No rank has a tensor mapped after an error.
GpuWay ChooseGpuWay(const GpuTask& task, Group& group);

}  // namespace slipway::runtime
