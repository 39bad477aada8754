/// One authenticated connection of the ring: frames out, frames in, never blocking.
#pragma once

#include <poll.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "staging/network/chunk.h"
#include "staging/network/frame.h"
#include "staging/network/node_group.h"
#include "staging/network/socket_handshake.h"

namespace slipway::staging {

/// What a link hands over. All run on the thread that calls Receive().
struct LinkEvents {
  std::function<void(const FrameHeader&, const std::string& payload)> on_control;
  /// Memory for a chunk; null: later. The link reads nothing more until then.
  std::function<ChunkPtr()> take_chunk;
  std::function<void(ChunkPtr)> on_chunk;
};

class Link {
 public:
  /// kForged: nothing that comes in counts any more, but what is sent still arrives.
  enum class State { kOpen, kClosed, kForged };

  Link(Connection connection, LinkEvents events);

  int fd() const { return connection_.fd.get(); }
  std::uint32_t peer() const { return connection_.peer; }
  bool same_plan() const { return connection_.same_plan; }

  void Send(const FrameHeader& header, std::string_view payload = {});
  void Send(ChunkPtr chunk);
  /// How many chunks of this reader wait to be sent.
  std::size_t PendingOf(std::uint32_t reader) const;
  /// Drops what has not begun to be sent.
  void DropPending();
  bool WantsToSend() const { return !queue_.empty(); }
  /// False while it waits for memory.
  bool WantsToReceive() const { return state_ != State::kClosed && !starved_; }
  /// What poll(2) is to wait for. No descriptor when that is nothing: a peer that hung up would end every wait.
  pollfd Wanted() const;

  /// Sends and receives what is possible now.
  void Flush();
  void Receive();
  /// Tries again to get memory.
  void Feed();

  State state() const { return state_; }
  /// When bytes last came in; now while this node itself does not read.
  SteadyTime last_heard() const { return last_heard_; }
  void set_last_heard(SteadyTime time) { last_heard_ = time; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  void ShutdownSending();

 private:
  struct Outgoing {
    FrameHeader header;
    std::string payload;
    ChunkPtr chunk;
    std::string head;  ///< header and payload of a control frame as they are sent
    std::size_t size() const { return head.size() + (chunk ? chunk->size : 0); }
  };

  void EndSending();
  bool ReceiveInto(char* memory, std::size_t size, std::size_t& filled);
  void Discard();
  bool ReceiveHeader();
  bool ReceivePayload();
  void FinishControl();
  void FinishChunk();
  void StartChunk();

  Connection connection_;
  LinkEvents events_;
  FrameSealer sealer_;
  FrameOpener opener_;
  std::deque<Outgoing> queue_;
  std::size_t sent_of_first_ = 0;

  std::string head_;
  std::size_t head_filled_ = 0;
  std::optional<FrameHeader> header_;
  std::string payload_;
  ChunkPtr chunk_;
  std::size_t payload_filled_ = 0;

  bool sending_over_ = false;
  bool starved_ = false;
  State state_ = State::kOpen;
  SteadyTime last_heard_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

/// A node's two connections of the ring: to the next node, and from the previous one.
struct JoinResult {
  std::optional<Connection> previous;
  std::optional<Connection> next;
  /// Why a connection is missing. At the deadline it names the node, and the last thing that it or a stranger did; or
  /// it is what `tick` threw. Nothing when a node that had joined is gone again: its last frames are still to be read.
  std::optional<Error> failure;
};

/// Makes this node's two connections of the ring, trying until `deadline`. Listens on this node's address, or accepts
/// on sockets that listen already, and connects to the next node. Strangers, wrong proofs and silent connections are
/// dropped and do not hold up the others.
/// `tick` is called several times a second. Its Error ends the joining; nodes that have joined can be informed of it.
/// Errors: what ListenOn throws.
JoinResult JoinRing(const NodeGroup& group, const GroupKey& key, const Digest& plan, SteadyTime deadline,
                    const std::function<void()>& tick);

}  // namespace slipway::staging
