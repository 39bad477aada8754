/// Serves this rank's shard to all ranks, with a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/server/frame.h"
#include "runtime/server/shard.h"

namespace slipway::runtime {

/// How long a server sleeps that has had nothing to do for `idle`: a quarter of that, at most two milliseconds.
constexpr std::chrono::microseconds NapAfter(std::chrono::microseconds idle) {
  constexpr std::chrono::microseconds kShortest{20};
  constexpr std::chrono::microseconds kLongest{2000};
  return idle / 4 < kShortest ? kShortest : idle / 4 > kLongest ? kLongest : idle / 4;
}

class ShardServer {
 public:
  /// `communicator`: of all ranks, for this server alone. A group of one needs no thread: it calls Reply.
  ShardServer(Shard shard, Communicator& communicator);
  ShardServer(const ShardServer&) = delete;
  ShardServer& operator=(const ShardServer&) = delete;
  /// No rank may be waiting for this server any more.
  ~ShardServer();

  /// Does what `frame` of `rank` asks for, and makes it the answer.
  /// Result: how many blocks of it the answer is.
  int Reply(int rank, Frame& frame);
  /// The ranks that hold `rank` up, as this server sees it. Any thread.
  std::vector<int> Behind(int rank) const;
  /// Throws what has ended the thread. Any thread.
  void RequireAlive() const;

 private:
  void Do(const Request& request, int rank, Frame& frame);
  void Run();
  void Listen();
  bool Serve();
  void SendAnswer(int rank);
  void Close();

  Communicator& communicator_;
  mutable std::mutex mutex_;
  Shard shard_;
  Answer refusal_;  ///< after an error: the answer to every request
  std::exception_ptr failure_;
  std::vector<Frame> frames_;          ///< by rank: its request, then the answer
  std::vector<MPI_Request> requests_;  ///< by rank
  std::vector<char> answering_;        ///< by rank: what `requests_` holds is the answer
  std::vector<int> finished_;
  std::atomic<bool> stop_{false};
  BlockType block_;
  std::thread thread_;
};

}  // namespace slipway::runtime
