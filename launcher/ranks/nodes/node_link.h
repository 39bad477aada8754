/// An authenticated connection between the manager and the agent of a node: both have proved that they hold the key.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/message_channel.h"
#include "core/unique_handle.h"
#include "launcher/ranks/nodes/node_frame.h"
#include "staging/network/group_key.h"

namespace slipway::launcher {

/// The keys of the two directions, and the socket.
struct NodeConnection {
  UniqueFd socket;
  staging::GroupKey send_key;
  staging::GroupKey receive_key;
};

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class NodeLink {
 public:
  struct Events {
    std::function<void(const NodeMessage&)> on_message;  ///< of every kind but kAlive
    /// Called once. The link may be destroyed after that call, not within it.
    std::function<void(const std::string& reason)> on_end;
  };

  /// `patience`: how long the other side may be silent. Only whole seconds count during which this side was not busy.
  NodeLink(EventLoop& loop, NodeConnection connection, std::chrono::seconds patience, Events events);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  ~NodeLink();

  /// Sends a frame. Payloads that are too long are split, which only kData allows. After the end of the link nothing is
  /// sent.
  void Send(NodeFrame kind, std::uint32_t stream = 0, std::string_view payload = {});

 private:
  void SendFrame(NodeFrame kind, std::uint32_t stream, std::string_view payload);
  void Receive();
  void Beat();
  void End(const std::string& reason);

  EventLoop& loop_;
  NodeConnection connection_;
  NodeFrameSealer sealer_;
  NodeFrameOpener opener_;
  std::chrono::seconds patience_;
  Events events_;
  OutgoingBytes outgoing_;
  std::chrono::seconds silence_{0};
  std::optional<EventLoop::TimerId> beat_;
  bool ended_ = false;
};

}  // namespace slipway::launcher
