/// The arguments of an agent, the same on every node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/network/handshake.h"
#include "staging/network/node_group.h"

namespace slipway::launcher {

struct AgentOptions {
  std::vector<staging::NodeAddress> manager;  ///< all of its addresses; any of them will do
  std::filesystem::path key_file;             ///< read by GroupKey::Read; every node sees it
  int nodes = 1;
  std::filesystem::path sockets;  ///< a folder to be made on each node (SocketFolder::OnNode), for its listeners
  std::string run;                ///< an agent waits until the agent of an earlier manager of this run has left
  int join_patience_s = 120;
};

/// The command line of an agent. Pure.
std::vector<std::string> AgentCommand(const AgentOptions& options);
/// Parses such a command line. Errors: Error(kUsage) naming the word.
AgentOptions ParseAgentCommand(const std::vector<std::string>& words);

/// How node `from` introduces itself to `to`. The manager has the number after the last node's.
staging::Introduction IntroductionOf(const AgentOptions& options, std::uint32_t from, std::uint32_t to);

}  // namespace slipway::launcher
