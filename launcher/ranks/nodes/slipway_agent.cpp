// slipway-agent: stands on one node of a job for the manager of the run. See protocol.h.

#include <cstdio>
#include <cstdlib>

#include "core/event_loop.h"
#include "launcher/ranks/local/socket_folder.h"
#include "launcher/ranks/nodes/agent.h"
#include "launcher/ranks/nodes/connect_to_manager.h"
#include "launcher/ranks/nodes/node_turn.h"

namespace slipway::launcher {
namespace {

/// The number that Slurm has given the node within the step.
std::uint32_t NodeNumber() {
  const char* number = std::getenv("SLURM_NODEID");
  return number != nullptr ? static_cast<std::uint32_t>(std::atoi(number)) : 0;
}

int Main(const std::vector<std::string>& words) {
  const auto options = ParseAgentCommand(words);
  const NodeTurn turn(PrivateFolderOfNode(FoldersForAll()), options.run + " " + NodeName(),
                      std::chrono::seconds(options.join_patience_s));
  const SocketFolder sockets(SocketFolder::OnNode(options.sockets, NodeName()));
  auto connection = ConnectToManager(options, NodeNumber());
  EventLoop loop;
  Agent(loop, std::move(connection), sockets.path()).Run();
  return 0;
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) {
  try {
    return slipway::launcher::Main({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-agent: %s\n", error.what());
    return 3;
  }
}
