// The words by which ranks start in containers. Of these programs ch-run and podman are on the machines that test
// Slipway (tests/end_to_end/container_test.py); for the others this is what is promised.

#include "launcher/ranks/local/container_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

ContainedStart Start(ContainerRuntime runtime) {
  ContainedStart start;
  start.runtime = runtime;
  start.image = "IMAGE";
  start.mounts = {{"/runs", "/runs"}, {"/scratch/a", "/data"}};
  start.working_directory = "/project/me";
  start.options = {"--extra"};
  start.variables = {"SLIPWAY_*", "RANK"};
  start.group = "g1";
  return start;
}

std::string WordsOf(const ContainedStart& start) {
  return fmt::format("{}", fmt::join(InContainer(start, {"train", "--lr", "a b"}), "|"));
}

TEST(ContainerCommand, OfApptainerAndSingularity) {
  const std::string rest =
      "|exec|--bind|/runs:/runs|--bind|/scratch/a:/data|--pwd|/project/me|--extra|IMAGE|train|--lr|a b";
  EXPECT_EQ(WordsOf(Start(ContainerRuntime::kApptainer)), "apptainer" + rest);
  EXPECT_EQ(WordsOf(Start(ContainerRuntime::kSingularity)), "singularity" + rest);
}

TEST(ContainerCommand, OfCharliecloudJoinsTheRanksOfANode) {
  auto start = Start(ContainerRuntime::kCharliecloud);
  const std::string rest =
      "--bind|/runs:/runs|--bind|/scratch/a:/data|--cd|/project/me|--extra|IMAGE|--|train|--lr|a b";
  EXPECT_EQ(WordsOf(start), "ch-run|" + rest);
  start.ranks_on_node = 2;
  EXPECT_EQ(WordsOf(start), "ch-run|--join-ct=2|--join-tag=g1|" + rest);
}

TEST(ContainerCommand, OfPodmanPassesVariablesAndShowsTheMachine) {
  auto start = Start(ContainerRuntime::kPodman);
  const std::string head = "run|--rm|--network=host|--ipc=host|--pid=host|--security-opt=label=disable|";
  const std::string rest =
      "--volume|/tmp:/tmp|--volume|/runs:/runs|--volume|/scratch/a:/data|--workdir|/project/me|--env|SLIPWAY_*|--env|"
      "RANK|--extra|IMAGE|"
      "train|--lr|a b";
  EXPECT_EQ(WordsOf(start), "podman|" + head + "--userns=keep-id|" + rest);
  start.as_root = true;
  EXPECT_EQ(WordsOf(start), "podman|" + head + rest);
  start.runtime = ContainerRuntime::kPodmanHpc;
  EXPECT_EQ(WordsOf(start), "podman-hpc|" + head + rest);
  start.mounts.push_back({"/scratch/tmp", "/tmp"});
  EXPECT_THAT(WordsOf(start), testing::Not(testing::HasSubstr("|/tmp:/tmp|"))) << "the user's own";
}

TEST(ContainerCommand, OfShifter) {
  EXPECT_EQ(WordsOf(Start(ContainerRuntime::kShifter)),
            "shifter|--image=IMAGE|--volume=/runs:/runs|--volume=/scratch/a:/data|--workdir=/project/me|--extra|"
            "train|--lr|a b");
}

}  // namespace
}  // namespace slipway::launcher
