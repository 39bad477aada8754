/// Messages between the members of a group, counted: what the algorithms between nodes are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// What an algorithm has cost this rank.
struct Counters {
  std::int64_t steps = 0;          ///< rounds of messages, each waited for
  std::int64_t messages_sent = 0;  ///< as the algorithm sees them; very large ones are cut for MPI
  std::int64_t bytes_sent = 0;

  bool operator==(const Counters&) const = default;
};

class PointToPoint {
 public:
  /// Between `members`, ranks of `communicator`; this rank is one of them. Ranks below are places in `members`.
  PointToPoint(Communicator& communicator, std::vector<int> members);
  /// Between all ranks.
  explicit PointToPoint(Communicator& communicator);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const Counters& counters() const { return counters_; }

  /// What the following messages are for: only messages with the same signature meet.
  void SetSignature(std::uint32_t signature) { signature_ = signature; }

  /// One step: sends to one member and receives from one, at the same time. 0 bytes: no message that way.
  /// Errors: RuntimeError: MPI, STALLED, MISMATCH when the other sends something else.
  void Exchange(int to, const void* out, std::size_t out_bytes, int from, void* in, std::size_t in_bytes);
  void Send(int to, const void* data, std::size_t bytes) { Exchange(to, data, bytes, to, nullptr, 0); }
  void Receive(int from, void* data, std::size_t bytes) { Exchange(from, nullptr, 0, from, data, bytes); }

  /// Parts of a step: what is started is completed in any order by Finish(), the rest by FinishStep().
  std::size_t StartReceive(int from, void* in, std::size_t bytes);
  std::size_t StartSend(int to, const void* out, std::size_t bytes);
  void Finish(std::size_t started);
  void FinishStep();

  /// A few bytes from `root` to all, and the least of each byte over all: for agreements, not for data.
  void Broadcast(int root, void* data, std::size_t bytes);
  std::vector<char> Smallest(std::vector<char> values);
  /// What `root` gives. Items are copied as bytes.
  template <class Item>
  std::vector<Item> BroadcastList(int root, std::vector<Item> list) {
    auto count = static_cast<std::uint64_t>(list.size());
    Broadcast(root, &count, sizeof count);
    list.resize(count);
    Broadcast(root, list.data(), count * sizeof(Item));
    return list;
  }

 private:
  Communicator& communicator_;
  std::vector<int> members_;
  int rank_ = 0;
  Counters counters_;
  struct Transfer {
    int partner = 0;
    std::size_t bytes = 0;
    bool receives = false;
    std::vector<MPI_Request> requests;
    int others = 0;  ///< looks that found a message which the receive did not take
  };
  std::size_t Start(Transfer transfer, char* data);
  void CancelReceives();
  void RefuseOtherMessage(Transfer& transfer, int partner);

  std::vector<Transfer> transfers_;
  std::uint32_t signature_ = 0;
};

}  // namespace slipway::runtime
