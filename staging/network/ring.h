/// The ring of nodes: a thread that moves frames, tells the neighbours that this node lives, and spreads failures.
///
///   node i-1 ---- states, chunks, taken, done ----> node i ---- ... ----> node i+1 (and from the last to the first)
///            <--- alive, abort -------------------         <-- ...
///
/// Every failure of any node reaches all nodes in both directions and ends the ring. The first one counts.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "staging/network/group_state.h"
#include "staging/network/link.h"

namespace slipway::staging {

/// Reads, keeps and passes on chunks. All functions run on the ring's thread and must not wait.
class ChunkHandler {
 public:
  virtual ~ChunkHandler() = default;
  /// Memory for an arriving chunk; null: not now. Call Wake() when memory is there again.
  virtual ChunkPtr TakeMemory() = 0;
  virtual void OnChunk(ChunkPtr chunk) = 0;
  /// The last node has written one of this node's own chunks.
  virtual void OnTaken() = 0;
  /// This node's next own chunk to be sent; null: none at present.
  virtual ChunkPtr NextOwn() = 0;
  /// What has lasted longer than it may, or "".
  virtual std::string Overdue(SteadyTime now) = 0;
};

class Ring {
 public:
  /// `plan` describes what this node plans, for a neighbour that plans something else (DescribePlan).
  Ring(const NodeGroup& group, std::string plan, JoinResult joined);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();
  /// Sends the last frames, for a few seconds at most. Afterwards the handler is not called any more.
  void Stop();

  /// Tells all nodes whether this one lacks the data, and returns which nodes do. Until `deadline`.
  std::vector<bool> ExchangeLacks(bool lacks, SteadyTime deadline, const std::function<void()>& tick);
  /// From now on chunks come in and go out. `handler` must live until Stop().
  void Start(ChunkHandler& handler);
  /// Tells all nodes that this one is ready, and waits for all others.
  void FinishTogether(const std::function<void()>& tick);

  /// On the ring's thread only.
  void Forward(ChunkPtr chunk);
  /// Tells `reader` that one of its chunks is written at the last node.
  void Taken(std::uint32_t reader);
  /// Makes the ring's thread look again for memory and own chunks.
  void Wake();

  /// Ends the ring for all nodes. False when it has failed before: then that counts.
  bool Fail(const Error& error);
  bool failed() const { return state_.failed(); }
  /// Throws what ended the ring: this node's own error, or another's with its name.
  void ThrowIfFailed() const { state_.ThrowIfFailed(); }

  Bytes sent() const { return Bytes{sent_}; }
  Bytes received() const { return Bytes{received_}; }

 private:
  struct Letter {
    FrameHeader header;
    std::string payload;
  };

  void Run();
  void Step();
  void TakeOrders();
  void SayGoodbye();
  void Announce(const GroupFailure& failure);
  void Exchange();
  void CheckLinks(SteadyTime now);
  void CheckLink(Link& link, bool may_close, SteadyTime now);
  void Drain();
  bool Draining() const;
  ChunkPtr MemoryForChunk();
  void OnChunk(ChunkPtr chunk);
  void OnControl(const FrameHeader& header, const std::string& payload);
  void OnRound(const FrameHeader& header, const std::string& payload);
  void OnPlan(std::uint32_t node, const std::string& payload);
  void OnAbort(const std::string& payload);
  void Post(Letter letter);
  bool Over() const;
  bool FailHere(ErrorKind kind, std::string message, std::string next_step = {});
  bool FailWith(GroupFailure failure);
  ChunkHandler* handler() const;
  std::uint32_t Next() const;

  const NodeGroup& group_;
  const std::string plan_;
  UniqueFd wake_;  ///< lives longer than the links: chunks that they let go wake the ring
  std::optional<Link> previous_;
  std::optional<Link> next_;

  GroupState state_;
  mutable std::mutex mutex_;
  std::deque<Letter> outbox_;
  ChunkHandler* handler_ = nullptr;
  bool ending_ = false;
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> received_{0};

  SteadyTime next_alive_{};
  ChunkPtr thrown_away_;  ///< memory for chunks that come in after a failure
  std::jthread thread_;
};

}  // namespace slipway::staging
