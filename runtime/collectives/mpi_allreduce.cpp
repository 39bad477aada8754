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

slipway_dtype DtypeOf(MPI_Datatype type) { return type == MPI_FLOAT ? SLIPWAY_FLOAT32 : SLIPWAY_FLOAT64; }

template <slipway_op op>
void CombineForMpi(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  Combine({DtypeOf(*type), op}, in, in_and_out, in_and_out, *count);
}

/// MPI's own where it does what reduction.h promises, else one of ours, which lives as long as this object.
class MpiOperation {
 public:
  explicit MpiOperation(const Reduction& reduction) {
    const bool extreme = reduction.op == SLIPWAY_MIN || reduction.op == SLIPWAY_MAX;
    if (!extreme || IsInteger(reduction.dtype)) {
      handle_ = OfMpi(reduction.op);
      return;
    }
    auto* function = reduction.op == SLIPWAY_MIN ? CombineForMpi<SLIPWAY_MIN> : CombineForMpi<SLIPWAY_MAX>;
    CheckMpi(MPI_Op_create(function, 1, &handle_), "MPI_Op_create");
    made_ = true;
  }
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;
  ~MpiOperation() {
    if (made_) MPI_Op_free(&handle_);
  }

  MPI_Op handle() const { return handle_; }

 private:
  static MPI_Op OfMpi(slipway_op op);

  MPI_Op handle_ = MPI_OP_NULL;
  bool made_ = false;
};

MPI_Op MpiOperation::OfMpi(slipway_op op) {
  switch (op) {
    case SLIPWAY_MIN: return MPI_MIN;
    case SLIPWAY_MAX: return MPI_MAX;
    case SLIPWAY_PRODUCT: return MPI_PROD;
    case SLIPWAY_SUM:
    case SLIPWAY_MEAN: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

void AllreducePiece(char* data, std::int64_t count, const Reduction& reduction, const MpiOperation& operation,
                    Communicator& group) {
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
  CheckMpi(MPI_Ireduce_scatter(data, slice.data(), counts.data(), type, operation.handle(), group.handle(), &request),
           "MPI_Ireduce_scatter");
  group.CompleteWithAll(request);
  Finish(reduction, slice.data(), own, group.size());
  CheckMpi(
      MPI_Iallgatherv(slice.data(), own, type, data, counts.data(), offsets.data(), type, group.handle(), &request),
      "MPI_Iallgatherv");
  group.CompleteWithAll(request);
}

}  // namespace

bool MpiCanReduce(const Reduction& reduction) {
  return MpiType(reduction.dtype) != MPI_DATATYPE_NULL && !IsMeanOfIntegers(reduction);
}

void AllreduceByMpi(void* data, std::int64_t count, const Reduction& reduction, Communicator& communicator) {
  const MpiOperation operation(reduction);
  auto* at = static_cast<char*>(data);
  while (count > 0) {
    const auto piece = std::min(count, kPiece);
    AllreducePiece(at, piece, reduction, operation, communicator);
    at += static_cast<std::size_t>(piece) * SizeOf(reduction.dtype);
    count -= piece;
  }
}

}  // namespace slipway::runtime
