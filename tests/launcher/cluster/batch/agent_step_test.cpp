#include "launcher/cluster/agent_step.h"

#include <gmock/gmock.h>

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(AgentStep, PutsOneOnEachNodeBesideEverythingElse) {
  const auto words = AgentStepWords(3, {"/opt/slipway-agent", "--nodes", "3"});
  EXPECT_EQ(words.front(), "srun");
  for (const auto* word : {"--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--overlap", "--no-kill"}) {
    EXPECT_THAT(words, Contains(word));
  }
  EXPECT_THAT((std::vector<std::string>(words.end() - 3, words.end())),
              ElementsAre("/opt/slipway-agent", "--nodes", "3"));
}

}  // namespace
}  // namespace slipway::launcher
