/// Lists of tensors as they come from the C interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// A tensor as it was handed over; the memory stays the caller's.
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

/// Compares what one collective call was given across ranks: `call` names its other arguments ("team 'net'").
/// Errors: RuntimeError(MISMATCH) on all ranks with the same text, naming the first rank and tensor that differ.
/// Collective.
void RequireSameCall(const std::string& call, std::span<const TensorInfo> tensors, Communicator& communicator);

}  // namespace slipway::runtime
