/// A team: a named set of tensors, exchanged together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// A tensor as it was registered; the memory stays the caller's.
struct TensorInfo {
  std::string name;
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::vector<std::int64_t> shape;
  void* data = nullptr;

  std::int64_t count() const;  ///< elements
  std::size_t bytes() const;
  std::string Describe() const;  ///< "conv1.weight float32 [32, 1, 3, 3]"
};

/// Copies and checks a list from the C interface.
/// Errors: RuntimeError(ARGUMENT) naming the tensor: null pointer, unknown dtype, negative or overflowing shape.
std::vector<TensorInfo> TakeTensors(const slipway_tensor* tensors, int count);

class Team {
 public:
  /// Collective: compares the list across ranks.
  /// Errors: RuntimeError(MISMATCH) on all ranks with the same text, naming the first rank and tensor that differ.
  Team(std::vector<TensorInfo> tensors, Communicator& communicator);

  /// Mean over all ranks, in place; the same bits on every rank. Collective.
  /// Tensors that lie one behind the other in memory are reduced as one; otherwise each is reduced by itself.
  void ExchangeMean();

 private:
  struct Run {
    void* data;
    std::int64_t count;
    slipway_dtype dtype;
  };

  std::vector<TensorInfo> tensors_;
  std::vector<Run> runs_;
  Communicator& communicator_;
};

/// Errors: RuntimeError(MISMATCH) on all ranks, naming the first tensor that differs and the ranks. Collective.
void CheckReplicas(std::span<const TensorInfo> tensors, Communicator& communicator);

}  // namespace slipway::runtime
