#include "staging/network/node_group.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/text.h"

namespace slipway::staging {
namespace {

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  return ParseNumber(text, port) && port > 0 ? std::optional(port) : std::nullopt;
}

std::optional<NodeAddress> ParseNode(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  auto host = text.substr(0, colon);
  const auto port = ParsePort(text.substr(colon + 1));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!port || host.empty() || host.find_first_of(" \t[]") != std::string_view::npos) return {};
  if (!bracketed && host.find(':') != std::string_view::npos) return {};
  return NodeAddress{std::string(host), *port};
}

Error BadLine(std::string_view name, std::size_t line, std::string_view what) {
  return Error(ErrorKind::kUsage, fmt::format("'{}', line {}: {}", name, line, what),
               "write one node a line as HOST:PORT, or [ADDRESS]:PORT for IPv6");
}

}  // namespace

std::vector<NodeAddress> ParseNodes(std::string_view text, std::string_view name) {
  std::vector<NodeAddress> nodes;
  std::set<std::pair<std::string, std::uint16_t>> seen;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const auto end = std::min(text.find('\n'), text.size());
    const auto full = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto content = Trim(full.substr(0, full.find('#')));
    if (content.empty()) continue;
    auto node = ParseNode(content);
    if (!node) throw BadLine(name, line, fmt::format("'{}' is no HOST:PORT", content));
    if (!seen.emplace(node->host, node->port).second) {
      throw BadLine(name, line, fmt::format("'{}' stands there twice", content));
    }
    nodes.push_back(std::move(*node));
  }
  if (nodes.empty()) throw Error(ErrorKind::kUsage, fmt::format("'{}' names no node", name), "write HOST:PORT lines");
  return nodes;
}

std::vector<NodeAddress> ReadNodesFile(const std::filesystem::path& path) {
  return ParseNodes(ReadFile(path), path.string());
}

std::string TextOf(const NodeAddress& address) {
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(six ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

std::string NodeName(const NodeGroup& group, std::uint32_t node) {
  if (node >= group.nodes.size()) return fmt::format("node {}", node);
  const auto& address = group.nodes[node];
  return fmt::format("node {} ({})", node,
                     address.name.empty() ? fmt::format("{}:{}", address.host, address.port) : address.name);
}

void CheckGroup(const NodeGroup& group) {
  const auto count = group.nodes.size();
  if (count == 0 || count > kMostNodes) {
    throw Error(ErrorKind::kUsage, fmt::format("a group has 1 to {} nodes, not {}", kMostNodes, count),
                "name the nodes of the group, one a line");
  }
  if (group.number >= count) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no node {} in a group of {}", group.number, count),
                "nodes count from 0 in the order of the list");
  }
  if (group.readers > count) {
    throw Error(ErrorKind::kUsage, fmt::format("{} nodes are to read, but there are only {}", group.readers, count),
                "lower the number of nodes that read");
  }
}

}  // namespace slipway::staging
