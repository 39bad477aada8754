#include "bench/simulate/ranks.h"

#include "bench/simulate/costs.h"
#include "runtime/collectives/between_ranks.h"

namespace slipway::bench {
namespace {

using namespace runtime;

void BetweenRanks(Algorithm algorithm, char* data, std::int64_t count, PointToPoint& members) {
  const Reduction sum{SLIPWAY_FLOAT32, SLIPWAY_SUM};
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling: return AllreduceByRecursiveDoubling(data, count, sum, members);
    case Algorithm::kRing: return AllreduceByRing(data, count, sum, members);
    case Algorithm::kRabenseifner: return AllreduceByRabenseifner(data, count, sum, members);
    case Algorithm::kTorus: return AllreduceByTorus(data, count, sum, members);
    case Algorithm::kPairwise: return AllreducePairwise(data, count, sum, members);
    case Algorithm::kShared:
    case Algorithm::kMpi: break;
  }
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "only algorithms of messages can be simulated");
}

}  // namespace

Counters AllreduceAsRank(const Job& job, char* data, const std::vector<int>& job_ranks) {
  Communicator communicator(MPI_COMM_WORLD, job_ranks);
  PointToPoint members(communicator);
  const double others = job.choice.hierarchical ? job.ranks_per_node - 1 : 0;
  const auto bytes = static_cast<double>(job.bytes);
  if (others > 0) SpendOnMemory((others + 2) * bytes);  // all ranks' gradients are read, one sum is written
  BetweenRanks(job.choice.algorithm, data, job.bytes / 4, members);
  if (others > 0) SpendOnMemory(2 * others * bytes);  // the others copy the result
  return members.counters();
}

}  // namespace slipway::bench
