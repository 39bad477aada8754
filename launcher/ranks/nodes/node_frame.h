/// The frames between the manager and the agent of a node as bytes, see protocol.h. Pure but for the count of frames.
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

/// One direction of a connection, at its beginning.
class NodeFrameSealer {
 public:
  explicit NodeFrameSealer(const staging::GroupKey& key) : key_(key) {}
  /// `payload`: at most kLongestNodePayload bytes.
  std::string Seal(NodeFrame kind, std::uint32_t stream, std::string_view payload);

 private:
  staging::GroupKey key_;
  std::uint64_t frames_ = 0;
};

/// The same at its end.
class NodeFrameOpener {
 public:
  explicit NodeFrameOpener(const staging::GroupKey& key) : key_(key) {}

  /// What has come over the connection, in pieces of any size.
  void Add(std::string_view bytes) { received_ += bytes; }
  /// The next whole frame. Nothing when more is to come, and for ever when forged().
  std::optional<NodeMessage> Next();
  /// Something came that is no frame, or does not prove the key.
  bool forged() const { return forged_; }

 private:
  staging::GroupKey key_;
  std::string received_;
  std::uint64_t frames_ = 0;
  bool forged_ = false;
};

/// What an agent says of its node when it joins.
struct NodeFacts {
  std::string name;
  std::vector<int> cores;  ///< neighbours side by side
  bool own_cores = true;   ///< no other job runs on them
  NodeDevices devices = {};
};
std::string TextOf(const NodeFacts& facts);
/// Takes anything; what cannot be read is left out.
NodeFacts ParseFacts(const std::string& text);

}  // namespace slipway::launcher
