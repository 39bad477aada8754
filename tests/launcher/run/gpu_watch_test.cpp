// slipway-gpus and its readers, here and through agents. NVML is a stand-in (tests/support/fake_nvml.cpp).

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "core/process.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/run/context/device_recorder.h"
#include "launcher/run/context/gpu_users.h"
#include "launcher/run/context/gpus_of_run.h"
#include "launcher/spec/spec.h"
#include "tests/support/few_descriptors.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kWatchedGpu = "GPU-aaaaaaaa-0000-0000-0000-000000000000";

class WatchedGpus : public testing::Test {
 protected:
  WatchedGpus() {
    ::dlopen(SLIPWAY_FAKE_NVML, RTLD_NOW);  // found by its name from now on
    ::setenv("LD_LIBRARY_PATH", std::filesystem::path(SLIPWAY_FAKE_NVML).parent_path().c_str(), 1);
    ::setenv("SLIPWAY_POWERCAP", (folder_.path() / "none").c_str(), 1);
  }
  ~WatchedGpus() override {
    ::unsetenv("FAKE_NVML");
    ::unsetenv("LD_LIBRARY_PATH");
    ::unsetenv("SLIPWAY_POWERCAP");
  }
  static void Be(const char* words) { ::setenv("FAKE_NVML", words, 1); }
  GpuWatch::Report Reports() {
    return [this](const std::string& reason) { reports_.push_back(reason); };
  }
  void Record(const std::vector<std::string>& names) {
    const DeviceRecorder recorder(loop_, files_, {.gpus = {names}}, Reports());
    const auto end = SystemClock().Steady() + std::chrono::milliseconds(200);
    while (SystemClock().Steady() < end) loop_.RunOnce(std::chrono::milliseconds(10));
  }
  /// Until something of this time is written, which takes 5 s. slipway-gpus may take its time to start.
  void RecordUntilWritten(const std::vector<std::string>& names) {
    const auto before = ReadFileIfPresent(files_.gpus);
    const DeviceRecorder recorder(loop_, files_, {.gpus = {names}}, Reports());
    test::RunUntil(loop_, [&] { return ReadFileIfPresent(files_.gpus) != before; });
  }
  void AwaitReport() {
    test::RunUntil(loop_, [&] { return !reports_.empty(); });
  }

  test::TempDirectory folder_;
  DeviceFiles files_{folder_.path() / "energy.json", folder_.path() / "gpus.json"};
  EventLoop loop_;
  std::vector<std::string> reports_;
};

TEST_F(WatchedGpus, KeepPeakAndMeanOverSeveralManagers) {
  Be("full");
  RecordUntilWritten({"0"});
  Be("");
  RecordUntilWritten({"0", "1"});
  const auto gpus = ReadGpuRecord(files_.gpus);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].gpu, kWatchedGpu);
  EXPECT_EQ(gpus[0].memory_peak_bytes, 75'000'000'000u);
  EXPECT_EQ(gpus[0].memory_used_bytes, 10'000'000'000u);
  EXPECT_EQ(UseOf(gpus).memory_peak_bytes, 75'000'000'000u);
  EXPECT_EQ(Json::parse(ReadFile(files_.gpus))["schema"], "slipway.gpus/1");
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(WatchedGpus, HaveTheirEnergyBesideThatOfProcessors) {
  Be("counts_once");
  for (int manager = 0; manager < 2; ++manager) RecordUntilWritten({"0", "1"});
  const auto document = Json::parse(ReadFile(files_.energy));
  EXPECT_NEAR(document["gpu_joules"].get<double>(), 2 * (2.5 + 4), 1e-9);
  EXPECT_TRUE(document["cpu_joules"].is_null());
  EXPECT_EQ(document["devices"][1]["kind"], "gpu");
  const auto energy = SumOf(ReadEnergyRecord(files_.energy));
  EXPECT_NEAR(energy.gpu_j.value_or(0), 13, 1e-9);
  EXPECT_FALSE(energy.cpu_j);
}

TEST_F(WatchedGpus, AreGivenUpWhenTheDriverHangs) {
  Be("hangs");
  const auto began = SystemClock().Steady();
  {
    const GpuWatch watch(loop_, {{"0"}}, Reports(), {std::chrono::milliseconds(300), std::chrono::milliseconds(300)});
    AwaitReport();
  }
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(40));
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("has not answered")));
}

TEST_F(WatchedGpus, DoNotHoldUpTheEndWhenTheDriverHangs) {
  Be("hangs");
  const auto began = SystemClock().Steady();
  Record({"0"});
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(40));
  EXPECT_FALSE(std::filesystem::exists(files_.gpus));
}

TEST_F(WatchedGpus, AreGivenUpWhenTheLibraryCrashes) {
  Be("crashes");
  const GpuWatch watch(loop_, {{"0"}}, Reports());
  AwaitReport();
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("SIGABRT")));
}

/// As Slurm does with all processes of a job, before the last checkpoint of its ranks.
TEST_F(WatchedGpus, AreMeasuredToTheEndAfterARequestToEnd) {
  Be("");
  auto pair = MakeSocketPair();
  GpuHelperProcess helper(GpuArguments({{"0"}}, std::chrono::seconds(1)), pair.theirs.get(), pair.theirs.get());
  pair.theirs.Reset();
  std::string said;
  const auto read_on = [&] {
    char piece[4096];
    const auto count = ::read(pair.ours.get(), piece, sizeof piece);
    if (count > 0) said.append(piece, static_cast<std::size_t>(count));
    return count > 0;
  };
  while (said.find('\n') == std::string::npos && read_on()) {
  }
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ASSERT_EQ(::syscall(SYS_pidfd_send_signal, helper.pidfd(), signal, nullptr, 0), 0);
  }
  ::shutdown(pair.ours.get(), SHUT_WR);
  const auto before = said.size();
  while (read_on()) {
  }
  EXPECT_THAT(said.substr(before), HasSubstr("joules"));
  const auto status = helper.Status();
  EXPECT_TRUE(status && status->Success()) << (status ? status->Describe() : "it runs");
}

TEST_F(WatchedGpus, AreLeftAloneWithoutADriver) {
  Be("driver_gone");
  Record({"0"});
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(WatchedGpus, HaveNamesForTheRecordOfTheMachine) {
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  EXPECT_THAT(NamesOfGpus(), ElementsAre("NVIDIA Stand-in 80GB", "NVIDIA Stand-in 80GB"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(WatchedGpus, AreNotLookedForWithoutADriverInTheSystem) {
  for (const char* file : {"/dev/nvidiactl", "/dev/dxg"}) {
    if (std::filesystem::exists(file)) GTEST_SKIP() << "there is " << file;
  }
  for (const char* variable : kDeviceVariables) ::unsetenv(variable);
  EXPECT_THAT(NamesOfGpus(), IsEmpty()) << "the library could be loaded";
}

// ---- other nodes

GpuSums SumsOf(const std::string& gpu, double joules) {
  GpuSums sums;
  sums.energies = {{"host", DeviceKind::kGpu, gpu, joules}};
  sums.uses.resize(1);
  sums.uses[0].host = "host";
  sums.uses[0].gpu = gpu;
  sums.uses[0].memory_peak_bytes = 5;
  return sums;
}

/// Nodes whose lines the test writes.
class LinesOfNodes : public WatchedGpus {
 protected:
  GpusOfNode Node(const std::string& name) {
    auto pair = MakeSocketPair();
    ends_.push_back(std::move(pair.theirs));
    return {name, std::move(pair.ours), [this, name] { return name == lost_; }};
  }
  std::vector<GpusOfNode> TwoNodes() {
    std::vector<GpusOfNode> nodes;
    nodes.push_back(Node("n0"));
    nodes.push_back(Node("n1"));
    return nodes;
  }
  void Say(std::size_t node, const GpuSums& sums) {
    const auto line = WriteFields(sums).dump() + "\n";
    ASSERT_EQ(::send(ends_.at(node).get(), line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }

  std::vector<UniqueFd> ends_;
  std::string lost_;
};

constexpr GpuPatience kLong{std::chrono::minutes(1), std::chrono::minutes(1)};
constexpr GpuPatience kShortAtFirst{std::chrono::milliseconds(200), std::chrono::minutes(1)};
constexpr GpuPatience kOftenChecked{std::chrono::minutes(1), std::chrono::milliseconds(200)};

TEST_F(LinesOfNodes, AreRecordedUnderTheNameOfTheirNode) {
  {
    const DeviceRecorder recorder(loop_, files_, {.nodes = TwoNodes(), .processors = false}, Reports());
    for (const std::size_t node : {0u, 1u}) Say(node, SumsOf(kWatchedGpu, 3));
    ends_.clear();
  }
  const auto gpus = ReadGpuRecord(files_.gpus);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].host, "n0");
  EXPECT_EQ(gpus[1].host, "n1");
  EXPECT_EQ(gpus[1].gpu, kWatchedGpu);
  EXPECT_EQ(SumOf(ReadEnergyRecord(files_.energy)).gpu_j, 6);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(LinesOfNodes, MayBeMissingWithoutHarmToOthers) {
  const NodesGpuWatch watch(loop_, TwoNodes(), Reports(), kShortAtFirst);
  Say(0, SumsOf(kWatchedGpu, 3));
  AwaitReport();
  EXPECT_THAT(reports_, ElementsAre(AllOf(HasSubstr("GPUs of n1 are measured no more"), HasSubstr("not answered"))));
  ASSERT_EQ(watch.sums().uses.size(), 1u);
  EXPECT_EQ(watch.sums().uses[0].host, "n0");
  char byte = 0;
  EXPECT_EQ(::recv(ends_[1].get(), &byte, 1, 0), 0) << "its agent hears that it is given up";
}

TEST_F(LinesOfNodes, MayEndWithTheirNode) {
  lost_ = "n1";
  const NodesGpuWatch watch(loop_, TwoNodes(), Reports(), kOftenChecked);
  ends_.clear();
  AwaitReport();
  EXPECT_THAT(reports_, ElementsAre(AllOf(HasSubstr("GPUs of n0 are measured no more"), HasSubstr("agents.log"))));
}

TEST_F(LinesOfNodes, AreRequestedOnceMoreInTheEnd) {
  std::vector<GpusOfNode> nodes;
  nodes.push_back(Node("n0"));
  NodesGpuWatch watch(loop_, std::move(nodes), Reports(), kLong);
  Say(0, SumsOf(kWatchedGpu, 7));
  ::shutdown(ends_[0].get(), SHUT_WR);
  watch.Finish();
  EXPECT_EQ(watch.sums().energies.at(0).joules, 7);
  char byte = 0;
  EXPECT_EQ(::recv(ends_[0].get(), &byte, 1, 0), 1);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST(LinesOfGpus, AreFewerTheMoreNodesThereAre) {
  EXPECT_EQ(BetweenGpuLines(1), std::chrono::seconds(5));
  EXPECT_EQ(BetweenGpuLines(166), std::chrono::seconds(5));
  EXPECT_EQ(BetweenGpuLines(1000), std::chrono::seconds(30));
  EXPECT_EQ(BetweenGpuLines(9000), std::chrono::seconds(60));
}

TEST(LinesOfGpus, AreShort) {
  GpuSums sums;
  MeasuredGpu gpu;
  gpu.host = "nid001234";
  gpu.gpu = kWatchedGpu;
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.memory_bytes = gpu.memory_used_bytes = gpu.memory_peak_bytes = 85'899'345'920;
  gpu.utilisation = 0.93;
  gpu.mean_utilisation = 1.0 / 3;
  gpu.measured_s = 86'400.123456789;
  sums.energies.assign(8, {gpu.host, DeviceKind::kGpu, gpu.gpu, 12'345'678.901});
  sums.uses.assign(8, gpu);
  EXPECT_LT(WriteFields(sums).dump().size(), 8u * 450);
}

/// Agents on this machine, as if each were a node with the GPUs of the stand-in.
class GpusOfAgents : public WatchedGpus {
 protected:
  GpusOfAgents() {
    Nodes::Options options;
    options.count = 2;
    options.run = folder_.path() / "run";
    options.key_folder = folder_.path();
    options.host = "localhost";
    nodes_ = std::make_unique<Nodes>(options);
    spec_.launch.gpus_per_rank = 1;
  }
  ~GpusOfAgents() override {
    nodes_.reset();
    for (auto& agent : agents_) agent.WaitFor(std::chrono::seconds(60));
  }
  /// `words` of FAKE_NVML on node 1.
  void StartAgents(const char* words) {
    for (int node = 0; node < nodes_->count(); ++node) {
      auto own = nodes_->agents();
      own.sockets = folder_.path() / std::to_string(node);
      SpawnOptions options;
      options.argv = AgentCommand(own);
      options.environment = Environment::Inherited();
      options.environment->Set("SLURM_NODEID", std::to_string(node))
          .Set("SLURMD_NODENAME", "n" + std::to_string(node))
          .Set("SLURM_CPUS_ON_NODE", "1")
          .Set("CUDA_VISIBLE_DEVICES", "0,1")
          .Set("FAKE_NVML", node == 1 ? words : "");
      agents_.push_back(ChildProcess::Spawn(options));
    }
    ASSERT_TRUE(nodes_->AwaitJoined(std::chrono::seconds(60))) << nodes_->Missing();
  }
  /// Returns a process of the run in this folder, which uses GPU 0.
  ChildProcess StartAgentsWithRankOf(const std::string& run) {
    SpawnOptions options;
    options.argv = {"sleep", "60"};
    options.environment = Environment::Inherited().Set("SLIPWAY_RUN_DIR", run);
    auto rank = ChildProcess::Spawn(options);
    ::setenv("FAKE_NVML_USER", std::to_string(rank.pid()).c_str(), 1);
    StartAgents("");
    ::unsetenv("FAKE_NVML_USER");
    return rank;
  }
  /// A process that the agent of the node has started; 0 when there is none.
  pid_t ChildOf(int node) const {
    const auto parent = agents_.at(static_cast<std::size_t>(node)).pid();
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::string text;
      std::getline(std::ifstream(entry.path() / "stat"), text);
      const auto after_name = text.rfind(") ");
      if (after_name == std::string::npos) continue;
      char state = 0;
      int of = 0;
      if (std::sscanf(text.c_str() + after_name + 2, "%c %d", &state, &of) == 2 && of == parent) {
        return std::atoi(entry.path().filename().c_str());
      }
    }
    return 0;
  }

  static bool UsesNvml(pid_t process) {
    std::ifstream maps(std::filesystem::path("/proc") / std::to_string(process) / "maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    return text.find("nvidia-ml") != std::string::npos;
  }
  /// Only what is measured on node 1.
  std::vector<GpusOfNode> SecondNode() {
    auto nodes = MeasureGpusOfNodes(run_, *nodes_);
    nodes.erase(nodes.begin());
    return nodes;
  }

  Spec spec_;
  RunOnGpus run_{spec_, "/runs/a-1"};
  std::unique_ptr<Nodes> nodes_;
  std::vector<ChildProcess> agents_;
};

TEST_F(GpusOfAgents, AreMeasuredOnEachNode) {
  StartAgents("full");
  NodesGpuWatch watch(loop_, MeasureGpusOfNodes(run_, *nodes_), Reports(), kLong);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return watch.sums().uses.size() == 2; }));
  watch.Finish();
  const auto sums = watch.sums();
  EXPECT_EQ(sums.uses[0].host, "n0");
  EXPECT_EQ(sums.uses[0].memory_used_bytes, 10'000'000'000u);
  EXPECT_EQ(sums.uses[1].host, "n1");
  EXPECT_EQ(sums.uses[1].memory_used_bytes, 75'000'000'000u);
  EXPECT_EQ(sums.energies.at(1).joules, 2.5) << "the last line has what the counter counted since the first";
  EXPECT_TRUE(test::RunUntil(loop_, [&] { return ChildOf(0) == 0 && ChildOf(1) == 0; }));
  EXPECT_THAT(reports_, IsEmpty());
}

/// In a container that numbers processes by itself, all of a node count.
TEST_F(GpusOfAgents, AreThoseOfTheRunThatUsesThem) {
  if (!SeesNumbersOfDriver()) GTEST_SKIP() << "the numbers of processes are those of a container";
  const auto rank = StartAgentsWithRankOf("/runs/a-1");
  std::vector<GpusOfNode> nodes;
  for (const char* id : {"b-2", "a-1"}) {
    const GpusToMeasure gpus{{"0", "1"}, GpuMeasures::kUse, id};
    nodes.push_back({id, nodes_->OpenGpuMeter(1, GpuArguments(gpus, std::chrono::seconds(1))), [] { return false; }});
  }
  NodesGpuWatch watch(loop_, std::move(nodes), Reports(), kLong);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !watch.sums().uses.empty(); }));
  watch.Finish();
  ASSERT_EQ(watch.sums().uses.size(), 1u);
  EXPECT_EQ(watch.sums().uses[0].host, "a-1");
  EXPECT_EQ(watch.sums().uses[0].gpu, kWatchedGpu);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(GpusOfAgents, AreThoseOfARunWithABlankInItsName) {
  const auto rank = StartAgentsWithRankOf("/runs/a 1");
  const GpusToMeasure gpus{{"0"}, GpuMeasures::kUse, "a 1"};
  auto lines = nodes_->OpenGpuMeter(1, GpuArguments(gpus, std::chrono::seconds(1)));
  std::vector<GpusOfNode> nodes;
  nodes.push_back({"n1", std::move(lines), [] { return false; }});
  NodesGpuWatch watch(loop_, std::move(nodes), Reports(), kLong);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !watch.sums().uses.empty(); }));
  watch.Finish();
  ASSERT_EQ(watch.sums().uses.size(), 1u) << "'1' is no GPU";
  EXPECT_EQ(watch.sums().uses[0].gpu, kWatchedGpu);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(GpusOfAgents, LeaveTheDescriptorsToTheRun) {
  StartAgents("");
  {
    const test::FewDescriptors few(40);
    EXPECT_EQ(MeasureGpusOfNodes(run_, *nodes_).size(), 0u);
  }
  EXPECT_EQ(MeasureGpusOfNodes(run_, *nodes_).size(), 2u);
}

TEST_F(GpusOfAgents, AreGivenUpWhenTheDriverOfTheirNodeHangs) {
  StartAgents("hangs");
  const NodesGpuWatch watch(loop_, SecondNode(), Reports(), kShortAtFirst);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !reports_.empty(); }));
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("GPUs of n1")));
  EXPECT_TRUE(test::RunUntil(loop_, [&] { return ChildOf(1) == 0; })) << "its slipway-gpus is killed";
  EXPECT_EQ(nodes_->TroubleOf(1), "");
}

TEST_F(GpusOfAgents, AreGivenUpWhenTheLibraryCrashes) {
  StartAgents("crashes");
  const NodesGpuWatch watch(loop_, SecondNode(), Reports(), kOftenChecked);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !reports_.empty(); }));
  EXPECT_THAT(reports_, ElementsAre(AllOf(HasSubstr("GPUs of n1"), HasSubstr("slipway-gpus ended there"))));
  EXPECT_EQ(nodes_->TroubleOf(1), "");
}

TEST_F(GpusOfAgents, AreLeftAloneWithoutADriver) {
  StartAgents("driver_gone");
  const NodesGpuWatch watch(loop_, MeasureGpusOfNodes(run_, *nodes_), Reports(), kLong);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return watch.sums().uses.size() == 1 && ChildOf(1) == 0; }));
  EXPECT_EQ(watch.sums().uses[0].host, "n0");
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(GpusOfAgents, LeaveNoProcessBehindWhenTheAgentIsKilled) {
  StartAgents("hangs");
  const auto meters = MeasureGpusOfNodes(run_, *nodes_);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return UsesNvml(ChildOf(1)); }));
  const UniqueFd child(static_cast<int>(::syscall(SYS_pidfd_open, ChildOf(1), 0)));
  agents_[1].Signal(SIGKILL);
  pollfd watch{child.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&watch, 1, 60'000), 1);
}

}  // namespace
}  // namespace slipway::launcher
