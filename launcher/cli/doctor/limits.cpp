#include "launcher/cli/doctor/limits.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "core/memory_left.h"
#include "core/text.h"
#include "launcher/ranks/nodes/nodes.h"

namespace slipway::launcher {
namespace {

constexpr char kSharedMemory[] = "/dev/shm";

/// Covers files in flight while staging and the files of each trial of an ensemble, with a margin.
constexpr std::uint64_t kEnoughFiles = 1024;
constexpr std::uint64_t kOtherFiles = Nodes::kOtherDescriptors;
/// Of a node, where no experiment says it.
constexpr int kUsualRanks = 8;
constexpr std::uint64_t kEnoughProcesses = 1024;
/// Containers often have 64 MB; the exchange of two ranks takes more.
constexpr Bytes kEnoughShared{512u << 20};
constexpr Bytes kEnoughMemory{1u << 30};

std::optional<std::uint64_t> LimitOf(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {};
  return limit.rlim_cur;
}

int CoresAllowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Bytes MachineMemory() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return {};
  return Bytes{static_cast<std::uint64_t>(info.totalram) * info.mem_unit};
}

std::optional<Bytes> SharedMemory() {
  if (!IsDirectory(kSharedMemory)) return {};
  return SpaceOf(kSharedMemory).capacity;
}

std::string TextOf(const std::optional<std::uint64_t>& limit) { return limit ? std::to_string(*limit) : "no limit"; }

Finding JudgeCount(const char* about, const std::optional<std::uint64_t>& limit, std::uint64_t enough,
                   const std::string& remedy) {
  if (!limit || *limit >= enough) return Ok(about, TextOf(limit));
  return Warn(about, fmt::format("only {}: runs with many ranks or trials need more", *limit), remedy);
}

std::string RequestForFiles(std::uint64_t files) {
  return fmt::format("ask the administrator for a hard limit (ulimit -Hn) of {}", files);
}

/// For how many nodes of so many ranks the limit is enough.
std::string ReachOf(std::uint64_t files, int ranks_per_node) {
  const auto of_node = static_cast<std::uint64_t>(Nodes::DescriptorsFor(1, 1, ranks_per_node));
  return fmt::format("{}: enough for a run on {} of {}", files, Counted((files - kOtherFiles) / of_node, "node"),
                     Counted(ranks_per_node, "rank"));
}

/// RaiseDescriptorLimit() has raised the soft limit.
Finding JudgeOpenFiles(const LimitFacts& facts, const Spec& experiment) {
  constexpr const char* kAbout = "open files";
  const auto& launch = experiment.launch;
  const int nodes = NodesOfManager(experiment) + experiment.resilience.spare_nodes;
  const auto needed =
      kOtherFiles + static_cast<std::uint64_t>(Nodes::DescriptorsFor(nodes, launch.nodes_per_job, launch.ranks()));
  if (nodes > 1 && facts.open_files && *facts.open_files < needed) {
    return Warn(kAbout,
                fmt::format("only {}: the manager of {} nodes with {} needs {}", *facts.open_files, nodes,
                            Counted(launch.ranks(), "rank"), needed),
                RequestForFiles(std::max(needed, kEnoughFiles)));
  }
  if (!facts.open_files || *facts.open_files < kEnoughFiles)
    return JudgeCount(kAbout, facts.open_files, kEnoughFiles, RequestForFiles(4 * kEnoughFiles));
  return Ok(kAbout, ReachOf(*facts.open_files, nodes > 1 ? launch.ranks_per_node : kUsualRanks));
}

Finding JudgeProcesses(const LimitFacts& facts) {
  return JudgeCount("processes", facts.processes, kEnoughProcesses,
                    fmt::format("ulimit -u {}; the hard limit is the administrator's", 4 * kEnoughProcesses));
}

Finding JudgeShared(const LimitFacts& facts) {
  if (!facts.shared_memory) {
    return Fail(kSharedMemory, "is not there: the ranks of a node exchange gradients through it",
                "mount a tmpfs there");
  }
  const auto text = FormatBytes(*facts.shared_memory);
  if (*facts.shared_memory >= kEnoughShared) return Ok(kSharedMemory, text);
  return Warn(kSharedMemory, fmt::format("only {}: large exchanges and the tier ram need more", text),
              "in a container start it with --shm-size=8g or --ipc=host; else: mount -o remount,size=50% /dev/shm");
}

Finding JudgeMemory(const LimitFacts& facts) {
  auto text = fmt::format("{} of {} may still be taken", FormatBytes(facts.memory_left), FormatBytes(facts.memory));
  if (facts.memory_left < facts.machine_left) text += "; a control group (of the job or container) holds it to that";
  if (facts.memory_left >= kEnoughMemory) return Ok("memory", text);
  return Warn("memory", text, "end what takes it, or ask the batch system or the container for more");
}

}  // namespace

LimitFacts ProbeLimits() {
  LimitFacts facts;
  facts.open_files = LimitOf(RLIMIT_NOFILE);
  facts.processes = LimitOf(RLIMIT_NPROC);
  facts.cores = CoresAllowed();
  facts.shared_memory = SharedMemory();
  facts.memory = MachineMemory();
  facts.memory_left = MemoryLeft();
  MemorySources machine;
  machine.membership = "/dev/null";
  facts.machine_left = MemoryLeft(machine);
  return facts;
}

Findings Judge(const LimitFacts& facts, const Spec& experiment) {
  return {Ok("cores", std::to_string(facts.cores)), JudgeMemory(facts), JudgeShared(facts),
          JudgeOpenFiles(facts, experiment), JudgeProcesses(facts)};
}

}  // namespace slipway::launcher
