#include "runtime/collectives/mpi_allreduce.h"

#include <algorithm>
#include <vector>

#include "runtime/collectives/slices.h"
#include "runtime/memory/scratch.h"

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
    default: return MPI_DATATYPE_NULL;
  }
}

MPI_Op MpiOp(slipway_op op) {
  switch (op) {
    case SLIPWAY_MIN: return MPI_MIN;
    case SLIPWAY_MAX: return MPI_MAX;
    case SLIPWAY_PRODUCT: return MPI_PROD;
    case SLIPWAY_SUM:
    case SLIPWAY_MEAN: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

void AllreducePiece(char* data, std::int64_t count, const Reduction& reduction, Communicator& group) {
  std::vector<int> counts;
  std::vector<int> offsets;
  for (const auto& slice : SlicesOf(count, group.size())) {
    counts.push_back(static_cast<int>(slice.count));
    offsets.push_back(static_cast<int>(slice.first));
  }
  const int own = counts[static_cast<std::size_t>(group.rank())];
  Scratch slice(static_cast<std::size_t>(own) * SizeOf(reduction.dtype));
  const auto type = MpiType(reduction.dtype);
  MPI_Request request = MPI_REQUEST_NULL;
  CheckMpi(MPI_Ireduce_scatter(data, slice.data(), counts.data(), type, MpiOp(reduction.op), group.handle(), &request),
           "MPI_Ireduce_scatter");
  group.CompleteWithAll(request);
  Finish(reduction, slice.data(), own, group.size());
  CheckMpi(
      MPI_Iallgatherv(slice.data(), own, type, data, counts.data(), offsets.data(), type, group.handle(), &request),
      "MPI_Iallgatherv");
  group.CompleteWithAll(request);
}

}  // namespace

bool MpiCanReduce(slipway_dtype dtype) { return MpiType(dtype) != MPI_DATATYPE_NULL; }

void AllreduceByMpi(void* data, std::int64_t count, const Reduction& reduction, Communicator& communicator) {
  auto* at = static_cast<char*>(data);
  while (count > 0) {
    const auto piece = std::min(count, kPiece);
    AllreducePiece(at, piece, reduction, communicator);
    at += static_cast<std::size_t>(piece) * SizeOf(reduction.dtype);
    count -= piece;
  }
}

}  // namespace slipway::runtime
