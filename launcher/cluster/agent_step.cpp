#include "launcher/cluster/agent_step.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "core/lines.h"

namespace slipway::launcher {
namespace {

std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  return ParseNumber(text, number) && number > 0 ? std::optional(number) : std::nullopt;
}

/// Of "4(x2)": 4. Nothing where nodes have different numbers of tasks: "4(x2),3".
std::optional<int> TasksOfEachNode(std::string_view layout) {
  if (layout.find(',') != std::string_view::npos) return {};
  return NumberIn(layout.substr(0, layout.find('(')));
}

/// "a100:" and "2", of "a100:2".
struct GpuCount {
  std::string type;
  std::optional<int> count;
};

GpuCount CountIn(const std::string& request) {
  const auto number = request.find_last_of(':') + 1;
  return {request.substr(0, number), NumberIn(std::string_view(request).substr(number))};
}

/// As --gpus-per-node; empty: not known.
std::string GpusOfEachNode(const Environment& environment) {
  const auto value = [&](const char* name) { return environment.Get(name).value_or(""); };
  const auto of_task = CountIn(value("SLURM_GPUS_PER_TASK"));
  if (const auto tasks = TasksOfEachNode(value("SLURM_TASKS_PER_NODE")); of_task.count && tasks) {
    return fmt::format("{}{}", of_task.type, *of_task.count * *tasks);
  }
  const auto of_job = CountIn(value("SLURM_GPUS"));
  const auto here = NumberIn(value("SLURM_GPUS_ON_NODE"));
  const bool are_alike =
      of_job.count && here && *here * NumberIn(value("SLURM_JOB_NUM_NODES")).value_or(1) == of_job.count;
  return are_alike ? fmt::format("{}{}", of_job.type, *here) : std::string();
}

}  // namespace

std::vector<std::string> AgentStepWords(int nodes, const std::vector<std::string>& command) {
  // Every option that a job's environment could set otherwise is said.
  std::vector<std::string> words{"srun",
                                 fmt::format("--nodes={}", nodes),
                                 fmt::format("--ntasks={}", nodes),
                                 "--ntasks-per-node=1",
                                 "--job-name=slipway-agents",
                                 "--overlap",
                                 "--mem=0",
                                 "--cpu-bind=none",
                                 "--mpi=none",
                                 "--no-kill",
                                 "--kill-on-bad-exit=0",
                                 "--wait=0",
                                 "--input=none"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

void RequestGpusOfNodes(Environment& environment) {
  const auto of_job = environment.Get("SLURM_GPUS_PER_NODE");
  const auto gpus = of_job ? *of_job : GpusOfEachNode(environment);
  if (gpus.empty()) return;
  for (const char* name :
       {"SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPUS", "SLURM_GPU_BIND", "SLURM_TRES_BIND"}) {
    environment.Unset(name);
  }
  if (environment.Get("SLURM_TRES_PER_TASK").value_or("").find("gpu") != std::string::npos) {
    environment.Unset("SLURM_TRES_PER_TASK");
  }
  environment.Set("SLURM_GPUS_PER_NODE", gpus);
}

std::string DaemonStepOptions() { return "--overlap --mem=0"; }

}  // namespace slipway::launcher
