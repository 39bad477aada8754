/// Encodes and decodes the frames between the manager and a node's agent, see protocol.h. Pure but for the count of
/// frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/ranks/local/node_devices.h"
#include "launcher/ranks/nodes/protocol.h"
#include "staging/network/group_key.h"

namespace slipway::launcher {

struct NodeMessage {
  NodeFrame kind = NodeFrame::kAlive;
  std::uint32_t stream = 0;
  std::string payload;
};

/// Encodes the frames of one direction of a connection.
class NodeFrameSealer {
 public:
  explicit NodeFrameSealer(const staging::GroupKey& key) : key_(key) {}
  /// `payload`: at most kLongestNodePayload bytes.
  std::string Seal(NodeFrame kind, std::uint32_t stream, std::string_view payload);

 private:
  staging::GroupKey key_;
  std::uint64_t frames_ = 0;
};

/// Decodes the frames of one direction of a connection.
class NodeFrameOpener {
 public:
  explicit NodeFrameOpener(const staging::GroupKey& key) : key_(key) {}

  /// Adds received bytes, in pieces of any size.
  void Add(std::string_view bytes) { received_ += bytes; }
  /// The next complete frame. Nothing until it is complete, and always when forged().
  std::optional<NodeMessage> Next();
  /// Received data was no frame, or did not prove the key.
  bool forged() const { return forged_; }

 private:
  staging::GroupKey key_;
  std::string received_;
  std::uint64_t frames_ = 0;
  bool forged_ = false;
};

/// What an agent reports of its node when it joins.
struct NodeFacts {
  std::string name;
  std::vector<int> cores;  ///< neighbours side by side
  bool own_cores = true;   ///< no other job runs on them
  NodeDevices devices = {};
  bool names_devices = false;  ///< the environment of the agent names them; else they are those of the system
};
std::string TextOf(const NodeFacts& facts);
/// Accepts any text; leaves out what it cannot read.
NodeFacts ParseFacts(const std::string& text);

}  // namespace slipway::launcher
