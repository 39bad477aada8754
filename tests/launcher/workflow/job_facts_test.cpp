#include "launcher/run/workflow/job_facts.h"

#include <gmock/gmock.h>

namespace slipway::launcher {
namespace {

using testing::Optional;

SlurmNode NodeWith(int cores, std::int64_t memory_mib, const std::string& gres) {
  SlurmNode node;
  node.cores = cores;
  node.memory_mib = memory_mib;
  node.gres = gres;
  return node;
}

MATCHER_P3(Has, cores, mebibytes, gpus, "") {
  return arg.cores == cores && arg.memory.count == std::uint64_t{mebibytes} << 20 && arg.gpus == gpus;
}

TEST(SmallestNode, HasTheLeastOfEachThing) {
  EXPECT_THAT(SmallestOf({NodeWith(64, 1000, ""), NodeWith(8, 4000, "gpu:a100:4(S:0-1)"), NodeWith(16, 4000, "gpu:2")}),
              Optional(Has(8, 1000u, 2)))
      << "of GPUs the fewest of a node that has some";
  EXPECT_FALSE(SmallestOf({}).has_value());
}

TEST(SmallestNode, CountsAllItsGpusAndNothingElse) {
  EXPECT_THAT(SmallestOf({NodeWith(8, 1, "lustre:3,gpu:a100:2(S:0,1),gpu:1g.10gb:7,shard:8")}),
              Optional(Has(8, 1u, 9)));
  EXPECT_THAT(SmallestOf({NodeWith(8, 1, "shard:8")}), Optional(Has(8, 1u, 0)));
}

}  // namespace
}  // namespace slipway::launcher
