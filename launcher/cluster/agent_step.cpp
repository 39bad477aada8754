#include "launcher/cluster/agent_step.h"

#include <fmt/format.h>

namespace slipway::launcher {

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

std::string DaemonStepOptions() { return "--overlap --mem=0"; }

}  // namespace slipway::launcher
