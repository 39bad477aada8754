/// Allreduce of memory of GPUs by a library: NCCL, or an MPI that takes it.
#pragma once

#include <memory>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/mpi_ranks.h"
#include "runtime/exchange/nccl_in_nodes.h"
#include "runtime/exchange/nccl_ranks.h"

namespace slipway::runtime {

/// By NCCL, in place, between all ranks of a group.
class NcclAllreduce : public GroupAllreduce {
 public:
  /// `asked`: as for NcclRanks::Connect(). Collective. Errors: those of it; RuntimeError on all ranks, as of a GPU
  /// without memory.
  static std::unique_ptr<NcclAllreduce> Make(const DevicePlace& place, Group& group, GpuExchange asked);

  void Close() override { ranks_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  NcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclRanks> ranks);

  DevicePlace place_;
  std::unique_ptr<NcclRanks> ranks_;
  DeviceEvent made_;  ///< the program's stream
  DeviceEvent done_;
  DeviceStream stream_;
};

/// By NCCL within each node, and by the CPU between nodes, part by part.
class NodeNcclAllreduce : public GroupAllreduce {
 public:
  static constexpr std::int64_t kPartBytes = 32 << 20;

  /// Of a group that NcclInNodes suits; else as NcclAllreduce::Make(). Memory: a part on the GPU.
  static std::unique_ptr<NodeNcclAllreduce> Make(const DevicePlace& place, Group& group, GpuExchange asked);

  void Close() override { nodes_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  NodeNcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclInNodes> nodes);

  DevicePlace place_;
  std::unique_ptr<NcclInNodes> nodes_;
  DeviceEvent made_;  ///< the program's stream
  DeviceEvent done_;
  DeviceStream stream_;
};

/// By MPI, in place, between all ranks of a group.
class MpiAllreduce : public GroupAllreduce {
 public:
  /// Collective. Errors: those of MpiRanks::Connect(); RuntimeError on all ranks, as of a GPU without memory.
  static std::unique_ptr<MpiAllreduce> Make(const DevicePlace& place, Group& group);

  void Close() override { ranks_.reset(); }
  bool GpuMpiHasWorked() const override { return has_worked_; }
  bool Takes(const Reduction& reduction) const override;
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  MpiAllreduce(const DevicePlace& place, std::unique_ptr<MpiRanks> ranks, const SumKernel* kernel);

  DevicePlace place_;
  std::unique_ptr<MpiRanks> ranks_;
  const SumKernel* kernel_;  ///< null: a rank's GPU has none, so means are not for MPI
  DeviceEvent made_;         ///< the program's stream
  DeviceEvent done_;
  DeviceStream stream_;
  SumTables tables_;
  bool has_worked_ = false;
};

}  // namespace slipway::runtime
