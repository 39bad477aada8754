#include "launcher/attempt/allocation.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/descriptor_limit.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"
#include "launcher/cluster/agent_step.h"
#include "launcher/ranks/monitor/log_tail.h"

namespace slipway::launcher {
namespace {

constexpr auto kJoinLook = std::chrono::milliseconds(50);
/// Agents leave when the programs of their nodes have ended, which they have at the end of a run.
constexpr auto kAgentLeavePatience = std::chrono::seconds(15);
/// A lost node keeps the step until Slurm hears of the loss, which is nothing to wait for.
constexpr auto kLossPatience = std::chrono::seconds(2);

int NodesOfAllocation() { return ParseNumber<int>(Variable("SLURM_JOB_NUM_NODES")).value_or(1); }

/// Those that the run needs and, as far as the job has them, the spare ones; not more.
int NodesToUse(const Spec& spec) {
  const int given = NodesOfAllocation();
  const int needed = spec.launch.nodes;
  if (given >= needed) return std::min(given, spec.nodes_of_job());
  throw Error(ErrorKind::kEnvironment, fmt::format("the job has {} of the {} nodes that the run needs", given, needed),
              "ask for a larger allocation, or set launch.nodes");
}

/// Removes keys of managers that were killed. The caller holds the run's lock, so no other manager uses one.
void RemoveOldKeys(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(".slipway-") && name.ends_with(".key")) std::filesystem::remove(entry.path(), error);
  }
}

using Warned = std::function<void(const std::string&)>;

/// `warned`, to be called from any thread.
Warned InLoop(CrossThreadCalls& calls, Warned warned) {
  return
      [&calls, warned = std::move(warned)](const std::string& what) { calls.Post([warned, what] { warned(what); }); };
}

std::chrono::seconds WholeSeconds(Seconds time) { return std::chrono::ceil<std::chrono::seconds>(time); }

Nodes::Options OptionsFor(const RunFolder& folder, const Plan& plan, Warned warned) {
  Nodes::Options options;
  options.count = NodesToUse(plan.spec());
  if (const auto left = DescriptorsLeft()) RequireDescriptors(plan.spec(), options.count, *left);
  RemoveOldKeys(folder.path());
  options.run = folder.path();
  options.key_folder = folder.path();
  options.host = HostName();
  options.join_patience = WholeSeconds(plan.spec().site.patience.join);
  options.patience = {kShortestSilence, WholeSeconds(plan.spec().site.patience.silent_node)};
  options.warned = std::move(warned);
  return options;
}

ChildProcess StartAgents(const Nodes& nodes, const std::filesystem::path& directory, const std::filesystem::path& log) {
  const auto output = OpenFile(log, O_WRONLY | O_CREAT | O_APPEND);
  SpawnOptions options;
  options.argv = AgentStepWords(nodes.count(), AgentCommand(nodes.agents()));
  options.environment = Environment::Inherited();
  LeaveMpiJob(*options.environment);
  RequestGpusOfNodes(*options.environment);
  options.working_directory = directory;
  options.stdout_fd = output.get();
  options.stderr_fd = output.get();
  return ChildProcess::Spawn(options);
}

}  // namespace

Allocation::Allocation(const RunFolder& folder, const Plan& plan, EventLoop& loop, Interrupt& interrupt, Output& output,
                       std::function<void(const std::string&)> warned)
    : log_(folder.path() / "agents.log"),
      warnings_(loop),
      nodes_(OptionsFor(folder, plan, InLoop(warnings_, std::move(warned)))),
      step_(StartAgents(nodes_, folder.path(), log_)) {
  output.Progress(fmt::format("starting an agent on each of {} nodes", nodes_.count()));
  AwaitAgents(loop, interrupt, WholeSeconds(plan.spec().site.patience.join));
}

Allocation::~Allocation() {
  const bool whole = nodes_.AwaitJoined({}) && static_cast<int>(Living().size()) == nodes_.count();
  nodes_.Leave();
  if (!step_.WaitFor(whole ? kAgentLeavePatience : kLossPatience)) step_.End(std::chrono::seconds(2));
}

void Allocation::AwaitAgents(EventLoop& loop, const Interrupt& interrupt, std::chrono::seconds patience) {
  const auto deadline = SystemClock().Steady() + patience;
  while (!nodes_.AwaitJoined(kJoinLook)) {
    loop.RunOnce(std::chrono::nanoseconds(0));
    if (interrupt.asked()) throw Error(ErrorKind::kInterrupted, "cancelled while the agents of the nodes started");
    const auto ended = step_.TryWait();
    if (!ended && SystemClock().Steady() < deadline) continue;
    const auto why = ended ? fmt::format("srun ended with {}", ended->Describe())
                           : fmt::format("the limit is {} s (site.patience.join)", patience.count());
    throw NodesMissing(
        ErrorKind::kEnvironment,
        fmt::format("{}; {}\nlast lines of {}:\n{}", nodes_.Missing(), why, log_.string(), ShownLastLines(log_, 12)),
        "`srun hostname` in such a job must work, and its nodes must reach the first one over the network");
  }
}

bool Allocation::HasThisNode() const {
  const char* slurm_name = std::getenv("SLURMD_NODENAME");
  const auto own = slurm_name != nullptr ? std::string(slurm_name) : HostName();
  for (int node = 0; node < nodes_.count(); ++node) {
    if (nodes_.FactsOf(node).name == own) return true;
  }
  return false;
}

std::vector<int> Allocation::Living() const {
  std::vector<int> living;
  for (int node = 0; node < nodes_.count(); ++node) {
    if (nodes_.TroubleOf(node).empty()) living.push_back(node);
  }
  return living;
}

/// Without them the last shims get no connection, and the start only seems slow.
void RequireDescriptors(const Spec& spec, int nodes, std::int64_t descriptors) {
  const auto needed = Nodes::DescriptorsFor(nodes, spec.launch.nodes_per_job, spec.launch.ranks());
  if (needed <= descriptors) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the manager may open only {} more files, and {} nodes with {} ranks need {}", descriptors,
                          nodes, spec.launch.ranks(), needed),
              "ask the administrator for a higher hard limit of open files on the nodes (ulimit -Hn)");
}

void PlaceOnNodes(Nodes& nodes, const std::vector<int>& on, const Spec& spec, RankLaunch& launch) {
  const int ranks_per_node = spec.launch.ranks_per_node;
  for (const int node : on) launch.hosts.push_back({node, nodes.FactsOf(node).name, ranks_per_node});
  launch.shim_listener = [&nodes, on](EventLoop& loop, ShimListener::Arrived arrived) {
    return nodes.OpenShimListener(loop, on, std::move(arrived));
  };
  launch.start_patience = WholeSeconds(spec.site.patience.start);
  launch.environment.Set("MASTER_ADDR", launch.hosts.front().name);
  if (launch.mpi.BySrun()) return;
  launch.environment.Set("OMPI_MCA_plm_slurm_args", DaemonStepOptions());
  // mpirun takes no node for more ranks than the job has tasks there, however Slurm has laid those out.
  launch.environment.Set("SLURM_TASKS_PER_NODE", fmt::format("{}(x{})", ranks_per_node, NodesOfAllocation()));
}

void LeaveThisNode(const MpiLauncher& launcher, Environment& environment) {
  if (launcher.BySrun() || launcher.mpi != Mpi::kMpich) return;
  for (const char* name : {"SLURMD_NODENAME", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_PROCID"}) environment.Unset(name);
  for (const char* name : kDeviceVariables) environment.Unset(name);
}

void PlaceOnThisNode(const Spec& spec, RankLaunch& launch) {
  const char* name = std::getenv("SLURMD_NODENAME");
  if (name == nullptr) {
    throw Error(ErrorKind::kEnvironment, "srun starts ranks on the nodes of a job only, and this process is on none",
                "submit the run, or set launch.slurm.start: mpirun");
  }
  launch.hosts = {{0, name, launch.ranks}};
  launch.start_patience = WholeSeconds(spec.site.patience.start);
  launch.environment.Set("MASTER_ADDR", name);
}

}  // namespace slipway::launcher
