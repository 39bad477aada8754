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

/// SLURM_GPUS_PER_NODE for the srun of a step, in a job with these variables.
std::string GpusOfStep(const std::vector<std::pair<std::string, std::string>>& variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.Set(name, value);
  RequestGpusOfNodes(environment);
  const auto gpus = environment.Get("SLURM_GPUS_PER_NODE");
  for (const char* name :
       {"SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPUS", "SLURM_GPU_BIND", "SLURM_TRES_BIND"}) {
    EXPECT_FALSE(gpus && environment.Get(name)) << name;
  }
  return gpus.value_or("");
}

TEST(AgentStep, TasksAreNotBoundToGpus) {
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_NODE", "4"}, {"SLURM_GPU_BIND", "single:1"}}), "4");
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_NODE", "a100:4"}, {"SLURM_TRES_BIND", "gres/gpu:per_task:1"}}), "a100:4");
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_NODE", "4"}, {"SLURM_GPUS_PER_TASK", "1"}}), "4");
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_NODE", "4"}, {"SLURM_NTASKS_PER_GPU", "1"}}), "4");
}

TEST(AgentStep, KeepsWhatATaskRequestsBesideGpus) {
  const auto of_task_in_step = [](const std::string& of_task) {
    Environment environment;
    environment.Set("SLURM_GPUS_PER_NODE", "4");
    environment.Set("SLURM_TRES_PER_TASK", of_task);
    RequestGpusOfNodes(environment);
    return environment.Get("SLURM_TRES_PER_TASK").value_or("");
  };
  EXPECT_EQ(of_task_in_step("cpu=2"), "cpu=2");
  EXPECT_EQ(of_task_in_step("cpu=2,gres/gpu=1"), "");
}

TEST(AgentStep, SeesTheGpusOfAllTasksOfItsNode) {
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}}), "4");
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_TASK", "a100:2"}, {"SLURM_TASKS_PER_NODE", "2"}}), "a100:4");
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "4,3"}}), "") << "unlike nodes";
}

TEST(AgentStep, SeesTheGpusOfTheJobOnItsNode) {
  const auto of_job = [](const std::string& gpus) {
    return GpusOfStep({{"SLURM_GPUS", gpus}, {"SLURM_GPUS_ON_NODE", "4"}, {"SLURM_JOB_NUM_NODES", "2"}});
  };
  EXPECT_EQ(of_job("8"), "4");
  EXPECT_EQ(of_job("h100:8"), "h100:4");
  EXPECT_EQ(of_job("5"), "") << "the other node has one";
  EXPECT_EQ(GpusOfStep({{"SLURM_GPUS", "8"}, {"SLURM_JOB_NUM_NODES", "2"}}), "") << "nothing says how they lie";
  EXPECT_EQ(GpusOfStep({}), "");
}

}  // namespace
}  // namespace slipway::launcher
