// SimGrid can run one simulation in the life of a process, so each gets a child.

#include "bench/simulate/simulation.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <simgrid/s4u.hpp>

#include "bench/simulate/ranks.h"
#include "core/error.h"
#include "core/files.h"
#include "core/process.h"

namespace slipway::bench {
namespace {

using simgrid::s4u::Engine;

/// SMPI's own factors imitate Ethernet and MPI libraries of 2010: the links are taken as they are, less 5 % for
/// headers. Senders wait until their message has been taken. Real time of the processor does not count.
constexpr std::array kSettings{"network/model:SMPI",           "surf/precision:1e-9",
                               "smpi/bw-factor:0:0.95",        "smpi/lat-factor:0:1.0",
                               "smpi/simulate-computation:no", "smpi/send-is-detached-thresh:0"};

/// Addresses without memory: what touches a simulated gradient ends the simulation.
char* Untouchable(std::int64_t bytes) {
  void* data = ::mmap(nullptr, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) ThrowErrno("cannot reserve addresses for the simulated gradients");
  return static_cast<char*>(data);
}

/// The contents of messages stay where they are.
void CopyNothing(smx_activity_t /*message*/, void* /*buffer*/, std::size_t /*bytes*/) {}

class Simulation {
 public:
  explicit Simulation(const Job& job)
      : job_(job),
        data_(Untouchable(job.bytes)),
        job_ranks_(static_cast<std::size_t>(job.choice.hierarchical ? job.nodes() : job.ranks)) {
    std::iota(job_ranks_.begin(), job_ranks_.end(), 0);
  }

  Outcome Run(const std::filesystem::path& platform) {
    std::vector<std::string> words{"simulate", "--log=root.thres:warning"};
    for (const char* setting : kSettings) words.push_back(fmt::format("--cfg={}", setting));
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    int argc = static_cast<int>(argv.size());
    Engine engine(&argc, argv.data());
    SMPI_init();
    smpi_comm_set_copy_data_callback(CopyNothing);
    engine.load_platform(platform);
    SMPI_app_instance_register("job", nullptr, static_cast<int>(job_ranks_.size()));
    for (const int rank : job_ranks_) StartRank(rank, engine);
    engine.run();
    return outcome_;
  }
  bool Complete() const { return ended_ == job_ranks_.size(); }

 private:
  void StartRank(int rank, Engine& engine) {
    const int node = job_.choice.hierarchical ? rank : rank / job_.ranks_per_node;
    const auto actor =
        simgrid::s4u::Actor::init(fmt::format("rank-{}", rank), engine.host_by_name(fmt::format("node-{}", node)));
    actor->set_property("instance_id", "job");
    actor->set_property("rank", std::to_string(rank));
    actor->start([this] { RunRank(); });
  }

  void RunRank() {
    MPI_Init(nullptr, nullptr);
    const auto cost = AllreduceAsRank(job_, data_, job_ranks_);
    outcome_.seconds = std::max(outcome_.seconds, Engine::get_clock());
    outcome_.steps = std::max(outcome_.steps, cost.steps);
    outcome_.messages = std::max(outcome_.messages, cost.messages_sent);
    outcome_.bytes_sent = std::max(outcome_.bytes_sent, cost.bytes_sent);
    ++ended_;
    MPI_Finalize();
  }

  const Job& job_;
  char* data_;
  std::vector<int> job_ranks_;
  Outcome outcome_;
  std::size_t ended_ = 0;
};

/// Never returns; what SimGrid would tidy up, the end of the process does.
[[noreturn]] void RunChild(const Job& job, const std::filesystem::path& platform, std::chrono::seconds limit, int out) {
  ::alarm(static_cast<unsigned>(limit.count()));
  int code = 1;
  try {
    Simulation simulation(job);
    const auto outcome = simulation.Run(platform);
    if (simulation.Complete() && ::write(out, &outcome, sizeof outcome) == sizeof outcome) code = 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

/// A platform file for as long as a simulation runs.
class PlatformFile {
 public:
  explicit PlatformFile(const Job& job) {
    char name[] = "/tmp/slipway-platform-XXXXXX.xml";
    const UniqueFd file(::mkstemps(name, 4));
    if (!file) ThrowErrno("cannot create a platform file in /tmp");
    path_ = name;
    WriteFile(path_, PlatformOf(job.machine, job.ranks_per_node));
  }
  PlatformFile(const PlatformFile&) = delete;
  PlatformFile& operator=(const PlatformFile&) = delete;
  ~PlatformFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

double Of(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

}  // namespace

std::vector<std::string> Settings() { return {kSettings.begin(), kSettings.end()}; }

std::optional<Outcome> Simulate(const Job& job, std::chrono::seconds limit) {
  const PlatformFile platform(job);
  auto pipe = MakePipe();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) ThrowErrno("cannot start a simulation");
  if (child == 0) RunChild(job, platform.path(), limit, pipe.write.get());
  pipe.write.Reset();
  Outcome outcome;
  const bool told = ::read(pipe.read.get(), &outcome, sizeof outcome) == sizeof outcome;
  int wait_status = 0;
  rusage used{};
  ::wait4(child, &wait_status, 0, &used);
  const auto status = ExitStatus::FromWait(wait_status);
  if (status.signal == SIGALRM) return std::nullopt;
  if (!told || !status.Success()) {
    throw Error(ErrorKind::kFailed,
                fmt::format("a simulation of {} on {} ranks ended with {}", runtime::NameOf(job.choice), job.ranks,
                            status.Describe()),
                "see what the simulation printed above");
  }
  outcome.processor_seconds = Of(used.ru_utime) + Of(used.ru_stime);
  outcome.memory_bytes = std::int64_t{used.ru_maxrss} * 1024;
  return outcome;
}

}  // namespace slipway::bench
