#include "runtime/collectives/allreduce.h"

#include <algorithm>
#include <concepts>
#include <vector>

namespace slipway::runtime {
namespace {

/// Elements reduced by one call: MPI counts are ints, and the scratch slice stays small.
constexpr std::int64_t kPiece = std::int64_t{1} << 26;

MPI_Datatype MpiType(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return MPI_FLOAT;
    case SLIPWAY_FLOAT64: return MPI_DOUBLE;
    case SLIPWAY_INT32: return MPI_INT32_T;
    case SLIPWAY_INT64: return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op MpiOp(slipway_op op) {
  switch (op) {
    case SLIPWAY_MIN: return MPI_MIN;
    case SLIPWAY_MAX: return MPI_MAX;
    case SLIPWAY_SUM:
    case SLIPWAY_MEAN: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

template <class Number>
void DivideAs(void* data, std::int64_t count, int by) {
  auto* values = static_cast<Number*>(data);
  if constexpr (std::floating_point<Number>) {
    const Number factor = Number(1) / static_cast<Number>(by);
    for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
  } else {
    for (std::int64_t i = 0; i < count; ++i) values[i] /= static_cast<Number>(by);
  }
}

void Divide(void* data, std::int64_t count, slipway_dtype dtype, int by) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return DivideAs<float>(data, count, by);
    case SLIPWAY_FLOAT64: return DivideAs<double>(data, count, by);
    case SLIPWAY_INT32: return DivideAs<std::int32_t>(data, count, by);
    case SLIPWAY_INT64: return DivideAs<std::int64_t>(data, count, by);
  }
}

/// How `count` elements are dealt to the ranks: equal slices, the first ones one longer.
struct Slices {
  std::vector<int> counts;
  std::vector<int> offsets;

  Slices(std::int64_t count, int ranks) {
    int offset = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(static_cast<int>(count / ranks + (rank < count % ranks ? 1 : 0)));
      offsets.push_back(offset);
      offset += counts.back();
    }
  }
};

void AllreducePiece(char* data, std::int64_t count, slipway_dtype dtype, slipway_op op, Communicator& group) {
  const Slices slices(count, group.size());
  const int own = slices.counts[static_cast<std::size_t>(group.rank())];
  std::vector<char> slice(std::max<std::size_t>(1, static_cast<std::size_t>(own) * SizeOf(dtype)));
  const auto type = MpiType(dtype);
  CheckMpi(MPI_Reduce_scatter(data, slice.data(), slices.counts.data(), type, MpiOp(op), group.handle()),
           "MPI_Reduce_scatter");
  if (op == SLIPWAY_MEAN) Divide(slice.data(), own, dtype, group.size());
  CheckMpi(
      MPI_Allgatherv(slice.data(), own, type, data, slices.counts.data(), slices.offsets.data(), type, group.handle()),
      "MPI_Allgatherv");
}

}  // namespace

std::size_t SizeOf(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32:
    case SLIPWAY_INT32: return 4;
    case SLIPWAY_FLOAT64:
    case SLIPWAY_INT64: return 8;
  }
  return 0;
}

void Allreduce(void* data, std::int64_t count, slipway_dtype dtype, slipway_op op, Communicator& communicator) {
  if (communicator.size() == 1) return;
  auto* at = static_cast<char*>(data);
  while (count > 0) {
    const auto piece = std::min(count, kPiece);
    AllreducePiece(at, piece, dtype, op, communicator);
    at += static_cast<std::size_t>(piece) * SizeOf(dtype);
    count -= piece;
  }
}

}  // namespace slipway::runtime
