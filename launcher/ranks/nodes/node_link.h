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

/// How long the other side may be silent.
struct NodePatience {
  std::chrono::seconds silent;
  /// As long as its kernel acknowledges what is sent to it: the process is held there, by want of memory or a freezer.
  std::chrono::seconds held = silent;
};

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class NodeLink {
 public:
  struct Events {
    std::function<void(const NodeMessage&)> on_message;  ///< of every kind but kAlive
    /// The other side has been silent for longer than NodePatience::silent, and is held. Once for each silence.
    std::function<void()> on_held = [] {};
    /// Called once. The link may be destroyed after that call, not within it.
    std::function<void(const std::string& reason)> on_end;
  };

  /// `patience`: only whole seconds count during which this side was not busy.
  NodeLink(EventLoop& loop, NodeConnection connection, NodePatience patience, Events events);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  ~NodeLink();

  /// Sends a frame. Payloads that are too long are split, which only kData allows. After the end of the link nothing is
  /// sent.
  void Send(NodeFrame kind, std::uint32_t stream = 0, std::string_view payload = {});
  /// Ends the link if the other side is held.
  void EndIfHeld();

 private:
  void SendFrame(NodeFrame kind, std::uint32_t stream, std::string_view payload);
  void Receive();
  void Beat();
  void JudgeSilence(bool acknowledged);
  void EndHeld();
  bool LastBeatIsAcknowledged() const;
  void End(const std::string& reason);

  EventLoop& loop_;
  NodeConnection connection_;
  NodeFrameSealer sealer_;
  NodeFrameOpener opener_;
  NodePatience patience_;
  Events events_;
  OutgoingBytes outgoing_;
  std::int64_t bytes_ = 0;          ///< given to `outgoing_`
  std::int64_t bytes_at_beat_ = 0;  ///< of `bytes_`, until the last beat
  std::chrono::seconds silence_{0};
  std::optional<EventLoop::TimerId> beat_;
  bool ended_ = false;
};

}  // namespace slipway::launcher
