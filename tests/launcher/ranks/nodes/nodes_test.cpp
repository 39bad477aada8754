#include "launcher/ranks/nodes/nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"
#include "launcher/ranks/local/lone_rank.h"
#include "launcher/ranks/nodes/node_frame.h"
#include "launcher/ranks/nodes/supervisor_on_node.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

TEST(FactsOfANode, KeepHowItsGpuVariablesCount) {
  Environment environment;
  environment.Set("ROCR_VISIBLE_DEVICES", "4,5").Set("CUDA_VISIBLE_DEVICES", "0,1");
  for (const auto numbers : {DeviceNumbers::kOfNode, DeviceNumbers::kInsideRocr}) {
    const auto devices = DevicesNamedIn(environment, numbers).Part(1, 1);
    const auto seen = ParseFacts(TextOf(NodeFacts{"n1", {0, 1}, true, devices})).devices;
    EXPECT_EQ(seen.names(), devices.names());
    EXPECT_EQ(VariablesFor(seen), VariablesFor(devices));
  }
}

TEST(FactsOfANode, KeepWhetherTheEnvironmentNamesItsGpus) {
  for (const bool named : {false, true}) {
    const auto seen = ParseFacts(TextOf(NodeFacts{"n1", {0, 1}, true, {}, named}));
    EXPECT_EQ(seen.names_devices, named);
    EXPECT_EQ(seen.cores.size(), 2u);
  }
}

/// Agents on this machine, each with a folder of its own for its listeners, as if it were a node.
class AgentsHere : public testing::Test {
 protected:
  Nodes::Options OptionsFor(int count) const {
    Nodes::Options options;
    options.count = count;
    options.run = folder_.path() / "run";
    options.key_folder = folder_.path();
    options.host = "localhost";
    options.patience = {std::chrono::seconds(120)};  // nodes are slow here, not lost
    return options;
  }

  fs::path SocketsOf(int node) const { return folder_.path() / std::to_string(node); }

  ChildProcess Start(const AgentOptions& agents, int node, const fs::path& program = {}) const {
    auto own = agents;
    own.sockets = SocketsOf(node);
    SpawnOptions options;
    options.argv = AgentCommand(own);
    if (!program.empty()) options.argv.front() = program;
    options.environment = Environment::Inherited();
    options.environment->Set("SLURM_NODEID", std::to_string(node));
    options.environment->Set("SLURMD_NODENAME", "n" + std::to_string(node));
    options.environment->Set("SLURM_CPUS_ON_NODE", "1");
    return ChildProcess::Spawn(options);
  }

  std::vector<ChildProcess> StartAll(Nodes& nodes) const {
    std::vector<ChildProcess> agents;
    for (int node = 0; node < nodes.count(); ++node) agents.push_back(Start(nodes.agents(), node));
    EXPECT_TRUE(nodes.AwaitJoined(std::chrono::seconds(60))) << nodes.Missing();
    return agents;
  }

  /// As a shim does.
  UniqueFd ConnectTo(const fs::path& listener) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, listener.c_str());
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (int i = 0; i < 6000; ++i) {
      if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "nobody listens at " << listener;
    return fd;
  }

  test::TempDirectory folder_;
  EventLoop loop_;
};

TEST_F(AgentsHere, SayWhichNodeTheyAre) {
  Nodes nodes(OptionsFor(2));
  const auto agents = StartAll(nodes);
  EXPECT_EQ(nodes.FactsOf(0).name, "n0");
  EXPECT_EQ(nodes.FactsOf(1).name, "n1");
  EXPECT_EQ(nodes.FactsOf(1).cores.size(), 1u);
  EXPECT_EQ(nodes.TroubleOf(1), "");
}

TEST_F(AgentsHere, AreNamedWhenTheyAreMissingUnlessTheyAreMany) {
  EXPECT_EQ(Nodes(OptionsFor(3)).Missing(), "3 of 3 nodes have not joined (node 0, 1, 2)");
  EXPECT_EQ(Nodes(OptionsFor(1000)).Missing(),
            "1000 of 1000 nodes have not joined (node 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...)");
}

TEST_F(AgentsHere, EndWithTheirManagerAndLeaveNothingBehind) {
  std::vector<ChildProcess> agents;
  {
    Nodes nodes(OptionsFor(2));
    agents = StartAll(nodes);
    EXPECT_EQ(fs::status(nodes.agents().key_file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  for (auto& agent : agents) {
    const auto status = agent.WaitFor(std::chrono::seconds(60));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->Success()) << status->Describe();
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(AgentsHere, LetShimsSpeakToTheManager) {
  Nodes nodes(OptionsFor(2));
  const auto agents = StartAll(nodes);
  std::vector<std::pair<UniqueFd, int>> arrived;
  auto shim_listener =
      nodes.OpenShimListener(loop_, {0, 1}, [&](UniqueFd fd, int node) { arrived.emplace_back(std::move(fd), node); });
  auto shim = ConnectTo(SocketsOf(1) / shim_listener->path().filename());
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return arrived.size() == 1; }));
  EXPECT_EQ(arrived.front().second, 1);
  ASSERT_EQ(::send(shim.get(), "hello\n", 6, 0), 6);
  char text[16] = {};
  EXPECT_EQ(::recv(arrived.front().first.get(), text, sizeof text, 0), 6);
  ASSERT_EQ(::send(arrived.front().first.get(), "go\n", 3, 0), 3);
  EXPECT_EQ(::recv(shim.get(), text, sizeof text, 0), 3);
  arrived.clear();
  EXPECT_EQ(::recv(shim.get(), text, sizeof text, 0), 0) << "a shim sees that its manager has let go";
}

/// A program on a node, through its supervisor.
struct Started {
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<LoneRank> rank;
  std::optional<GroupOutcome> outcome;
};

std::unique_ptr<Started> StartOn(Nodes& nodes, int node, EventLoop& loop, const fs::path& log,
                                 const std::string& script, std::chrono::seconds grace = std::chrono::seconds(1)) {
  auto started = std::make_unique<Started>();
  started->supervisor = std::make_unique<Supervisor>(loop, SupervisorOn(nodes, node));
  RankLaunch launch;
  launch.command = {"sh", "-c", script};
  launch.environment = Environment::Inherited();
  launch.log_directory = log;
  launch.supervisor = started->supervisor.get();
  launch.grace = grace;
  started->rank = std::make_unique<LoneRank>(loop, std::move(launch),
                                             [raw = started.get()](const GroupOutcome& end) { raw->outcome = end; });
  started->rank->Release();
  return started;
}

TEST_F(AgentsHere, RunProgramsThroughASupervisor) {
  Nodes nodes(OptionsFor(1));
  const auto agents = StartAll(nodes);
  const auto program = StartOn(nodes, 0, loop_, folder_.path(), "echo on $SLURMD_NODENAME; exit 5");
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return program->outcome.has_value(); }));
  EXPECT_EQ(program->outcome->status, (ExitStatus{5, 0}));
  EXPECT_EQ(program->outcome->detail, "rank 0 on n0 ended with exit status 5");
}

/// A program whose start waits until this object is gone, as on a file server that does not answer. It has a lease of
/// the file, which the kernel takes back after /proc/sys/fs/lease-break-time (45 s).
class HeldProgram {
 public:
  explicit HeldProgram(const fs::path& program) : file_(OpenFile(program, O_RDONLY)) {
    ::signal(SIGIO, SIG_IGN);  // the kernel's request to give it back
    CheckErrno(::fcntl(file_.get(), F_SETLEASE, F_WRLCK), "cannot lease a file");
  }

  bool IsWaitedFor() const { return ::fcntl(file_.get(), F_GETLEASE) == F_RDLCK; }

 private:
  UniqueFd file_;
};

TEST_F(AgentsHere, ServeTheirManagerWhileAProgramIsStuckInItsStart) {
  const auto programs = folder_.path() / "libexec" / "slipway";
  fs::create_directories(programs);
  for (const auto* name : {"slipway-agent", "slipway-supervisor"}) fs::copy(HelperProgram(name), programs / name);
  Nodes nodes(OptionsFor(1));
  const auto agent = Start(nodes.agents(), 0, programs / "slipway-agent");
  ASSERT_TRUE(nodes.AwaitJoined(std::chrono::seconds(60))) << nodes.Missing();
  std::optional<HeldProgram> held(programs / "slipway-supervisor");
  const auto program = StartOn(nodes, 0, loop_, folder_.path(), "exit 5");
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return held->IsWaitedFor(); }));
  int arrived = 0;
  const auto listener = nodes.OpenShimListener(loop_, {0}, [&](const UniqueFd&, int) { ++arrived; });
  const auto shim = ConnectTo(SocketsOf(0) / listener->path().filename());
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return arrived == 1; }));
  EXPECT_TRUE(held->IsWaitedFor()) << "the start was over before the shim arrived";
  EXPECT_EQ(nodes.TroubleOf(0), "");
  held.reset();
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return program->outcome.has_value(); }));
  EXPECT_EQ(program->outcome->status, (ExitStatus{5, 0}));
}

TEST_F(AgentsHere, SayThatAProgramCannotBeStarted) {
  const auto programs = folder_.path() / "libexec" / "slipway";
  fs::create_directories(programs);
  fs::copy(HelperProgram("slipway-agent"), programs / "slipway-agent");
  Nodes nodes(OptionsFor(1));
  const auto agent = Start(nodes.agents(), 0, programs / "slipway-agent");
  ASSERT_TRUE(nodes.AwaitJoined(std::chrono::seconds(60))) << nodes.Missing();
  char text[16];
  EXPECT_EQ(::recv(nodes.OpenSupervisor(0).get(), text, sizeof text, 0), 0);
  EXPECT_EQ(::recv(nodes.OpenGpuMeter(0, {"watch"}).get(), text, sizeof text, 0), 0);
  EXPECT_EQ(nodes.TroubleOf(0), "");
}

TEST_F(AgentsHere, KilledAreNamedAsLostNodesAndTheOthersGoOn) {
  Nodes nodes(OptionsFor(2));
  auto agents = StartAll(nodes);
  const auto first = StartOn(nodes, 0, loop_, folder_.path(), "sleep 1; exit 3");
  const auto second = StartOn(nodes, 1, loop_, folder_.path(), "sleep 600");
  agents[1].Signal(SIGKILL);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return second->outcome.has_value(); }));
  EXPECT_EQ(second->outcome->detail, "node n1 is lost: its connection closed, and with it rank 0");
  EXPECT_TRUE(second->outcome->lost_node.has_value());
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return first->outcome.has_value(); }));
  EXPECT_EQ(first->outcome->status, (ExitStatus{3, 0}));
  EXPECT_EQ(nodes.TroubleOf(0), "");
  EXPECT_THROW(StartOn(nodes, 1, loop_, folder_.path(), "true"), Error);
}

TEST_F(AgentsHere, StoppedOnALivingNodeAreLostAfterALongerSilence) {
  auto options = OptionsFor(1);
  options.patience = {std::chrono::seconds(2), std::chrono::seconds(5)};
  std::vector<std::string> warnings;  // all come before the trouble
  options.warned = [&](const std::string& what) { warnings.push_back(what); };
  Nodes nodes(options);
  auto agents = StartAll(nodes);
  ::kill(agents[0].pid(), SIGSTOP);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !nodes.TroubleOf(0).empty(); }));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings.front(),
            "the agent of node n0 has been silent for 2 s, though its kernel answers: it may be stopped, frozen or "
            "swapped out; the node is lost after 5 s of silence");
  EXPECT_EQ(nodes.TroubleOf(0), "node n0 is lost: no sign of life of its agent for 5 s, though its kernel answers");
  ::kill(agents[0].pid(), SIGCONT);
  ASSERT_TRUE(agents[0].WaitFor(std::chrono::seconds(60)));
}

TEST_F(AgentsHere, WithoutTheKeyAreNotLetIn) {
  Nodes nodes(OptionsFor(1));
  auto stranger = nodes.agents();
  stranger.key_file = folder_.path() / "other.key";
  stranger.join_patience_s = 5;
  staging::GroupKey::Create(stranger.key_file);
  auto agent = Start(stranger, 0);
  const auto status = agent.WaitFor(std::chrono::seconds(60));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 3);
  EXPECT_FALSE(nodes.AwaitJoined(std::chrono::milliseconds(0)));
  EXPECT_NE(nodes.Missing().find("has it the same key?"), std::string::npos) << nodes.Missing();
}

TEST_F(AgentsHere, OfALaterManagerWaitUntilTheProgramsOfTheFirstHaveEnded) {
  Nodes first(OptionsFor(1));
  auto agents = StartAll(first);
  const auto mark = folder_.path() / "over", up = folder_.path() / "up";
  const auto program =
      StartOn(first, 0, loop_, folder_.path(),
              fmt::format("trap 'sleep 0.6; touch {}; exit' TERM; touch {}; while :; do sleep 0.05; done",
                          mark.string(), up.string()),
              std::chrono::seconds(60));
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return fs::exists(up); }));
  agents[0].Signal(SIGTERM);
  Nodes second(OptionsFor(1));
  const auto later = StartAll(second);
  EXPECT_TRUE(fs::exists(mark));
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return program->outcome.has_value(); }));
}

}  // namespace
}  // namespace slipway::launcher
