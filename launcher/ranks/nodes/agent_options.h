/// What an agent is started with; the same words on every node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/network/handshake.h"
#include "staging/network/node_group.h"

namespace slipway::launcher {

struct AgentOptions {
  std::vector<staging::NodeAddress> manager;  ///< all of its addresses; any of them will do
  std::filesystem::path key_file;             ///< what GroupKey::Read reads, where every node sees it
  int nodes = 1;
  std::filesystem::path sockets;  ///< a folder to be made on each node (SocketFolder::OnNode), for its listeners
  std::string run;                ///< an agent waits until that of an earlier manager of the same run has left its node
  int join_patience_s = 120;
};

/// The words of an agent's command line. Pure.
std::vector<std::string> AgentCommand(const AgentOptions& options);
/// The way back. Errors: Error(kUsage) naming the word.
AgentOptions ParseAgentCommand(const std::vector<std::string>& words);

/// What node `from` says of itself to `to`; the manager has the number after the last node's.
staging::Introduction IntroductionOf(const AgentOptions& options, std::uint32_t from, std::uint32_t to);

}  // namespace slipway::launcher
