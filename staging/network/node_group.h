/// The nodes that stage a dataset together, and how long they wait for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"

namespace slipway::staging {

/// Where a node listens. The host is a name or a numeric address; a node binds only the address that stands for itself.
struct NodeAddress {
  std::string host;
  std::uint16_t port = 0;
  std::vector<NodeAddress> more = {};  ///< where it can be reached, too
  std::string name = {};               ///< what messages call it; empty: HOST:PORT
};

struct NodeGroup {
  std::uint32_t number = 0;  ///< this node's place in `nodes`
  std::vector<NodeAddress> nodes;
  std::filesystem::path key_file;  ///< what GroupKey::Read reads; the same key on every node
  /// How many nodes read the shared file system, from node 0 on; 0: all of them. The same on every node.
  std::uint32_t readers = 0;
  std::chrono::milliseconds join_timeout = std::chrono::minutes(2);    ///< until all nodes are there and ready
  std::chrono::milliseconds stall_timeout = std::chrono::seconds(30);  ///< silence of another node, at most
  /// One read or write, at most. A shared file system may stand still for minutes while a server of it takes over.
  std::chrono::milliseconds file_timeout = std::chrono::minutes(15);
  /// Sockets of this node that listen already, and go on to; must outlive the call. Null: its address in `nodes` is
  /// bound for as long as the nodes join.
  const std::vector<UniqueFd>* listeners = nullptr;
};

/// One node a line, HOST:PORT or [IPV6]:PORT; empty lines and what follows '#' do not count.
/// Errors: Error(kUsage) with the line's number; no nodes; the same address twice.
std::vector<NodeAddress> ParseNodes(std::string_view text, std::string_view name);
std::vector<NodeAddress> ReadNodesFile(const std::filesystem::path& path);
/// The way back, for one of them: HOST:PORT or [IPV6]:PORT.
std::string TextOf(const NodeAddress& address);

/// "node 2 (gpu07:7000)", or with the name of the node.
std::string NodeName(const NodeGroup& group, std::uint32_t node);

/// Errors: Error(kUsage): a number that is not in the list, readers beyond it, more than kMostNodes.
inline constexpr std::size_t kMostNodes = 65'536;
void CheckGroup(const NodeGroup& group);

}  // namespace slipway::staging
