/// Allreduce of memory of GPUs by a library: NCCL, or an MPI that takes it.
#pragma once

#include <memory>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/mpi_ranks.h"
#include "runtime/exchange/nccl_in_nodes.h"
#include "runtime/exchange/nccl_ranks.h"

namespace slipway::runtime {

/// What waits for the program's stream, and works on one of its own.
class AllreduceOnStream : public GroupAllreduce {
 protected:
  explicit AllreduceOnStream(const DevicePlace& place) : place_(place), made_(place), done_(place), stream_(place) {}

  /// Returns when the GPU has done what `stream` was given so far. Errors: those of AwaitPoint().
  void AwaitValues(StreamHandle stream, const Waiter& waiter);

  const DevicePlace place_;
  DeviceEvent made_;  ///< the program's stream
  DeviceEvent done_;
  DeviceStream stream_;
};

/// By NCCL, in place, between all ranks of a group.
class NcclAllreduce : public AllreduceOnStream {
 public:
  /// `asked`: as for NcclRanks::Connect(). Collective. Errors: those of it; RuntimeError on all ranks, as of a GPU
  /// without memory.
  static std::unique_ptr<NcclAllreduce> Make(const DevicePlace& place, Group& group, GpuExchange asked);

  void Close() override { ranks_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  NcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclRanks> ranks);

  std::unique_ptr<NcclRanks> ranks_;
};

/// By NCCL within each node, and by the CPU between nodes, part by part.
class NodeNcclAllreduce : public AllreduceOnStream {
 public:
  static constexpr std::int64_t kPartBytes = 32 << 20;

  /// Of a group that NcclInNodes suits; else as NcclAllreduce::Make(). Memory: a part on the GPU.
  static std::unique_ptr<NodeNcclAllreduce> Make(const DevicePlace& place, Group& group, GpuExchange asked);

  void Close() override { nodes_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  NodeNcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclInNodes> nodes);

  std::unique_ptr<NcclInNodes> nodes_;
};

/// By MPI, in place, between all ranks of a group.
class MpiAllreduce : public AllreduceOnStream {
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

  std::unique_ptr<MpiRanks> ranks_;
  const SumKernel* kernel_;  ///< null: a rank's GPU has none, so means are not for MPI
  SumTables tables_;
  bool has_worked_ = false;
};

}  // namespace slipway::runtime
