/// The ranks of a group, over MPI, or a lone rank without it.
///
/// Every function is collective. None waits for ever: the watch ends a wait for a rank that does not come.
/// Errors: RuntimeError: MPI, STALLED; after it the communicator cannot be used.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/group/waiter.h"
#include "runtime/slipway.h"

namespace slipway::runtime {

/// Throws RuntimeError naming `what` unless `code` is MPI_SUCCESS.
void CheckMpi(int code, const char* what);

class Communicator {
 public:
  /// One rank, no MPI.
  static std::unique_ptr<Communicator> Alone(Waiter waiter);
  /// A private duplicate of `parent`, which has all ranks of the job. Errors are returned and do not end the program.
  static std::unique_ptr<Communicator> OfJob(MPI_Comm parent, Waiter waiter);
  /// The same ranks once more: messages of one never meet those of the other.
  std::unique_ptr<Communicator> Duplicate(Waiter waiter);
  /// Those of `ranks`, in this order; null for all others. Disjoint subgroups are made by one call, to which their
  /// members pass their own `ranks`. Collective over this communicator.
  std::unique_ptr<Communicator> Subgroup(std::span<const int> ranks, Waiter waiter);
  /// The same, collective over `ranks` alone, of which this rank is one. MPI waits for a missing one for ever.
  std::unique_ptr<Communicator> SubgroupByMembers(std::span<const int> ranks, int tag, Waiter waiter);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return communicator_ == MPI_COMM_NULL; }
  MPI_Comm handle() const { return communicator_; }
  /// The rank in the job of each rank of this communicator.
  const std::vector<int>& job_ranks() const { return job_ranks_; }
  /// The same without this rank.
  std::vector<int> JobRanksOfOthers() const;
  Waiter& waiter() { return waiter_; }
  void SetWaiter(const Waiter& waiter) { waiter_ = waiter; }

  void Barrier();
  /// Copies `bytes` bytes from `root` to all.
  void Broadcast(void* data, std::size_t bytes, int root);
  std::string BroadcastText(const std::string& text, int root);
  /// `bytes` bytes of each rank, in rank order.
  std::vector<char> Allgather(const void* data, std::size_t bytes);
  /// The largest / smallest value of any rank.
  std::uint64_t Max(std::uint64_t value);
  std::uint64_t Min(std::uint64_t value);

  /// Waits for requests of this communicator. `missing`: ranks of this communicator that are waited for; asked
  /// from time to time when the wait is long.
  void Complete(std::span<MPI_Request> requests, const std::function<std::vector<int>()>& missing);
  /// Waits for a collective of MPI.
  void CompleteWithAll(MPI_Request request);

 private:
  Communicator(MPI_Comm communicator, std::vector<int> job_ranks, Waiter waiter);
  std::vector<int> JobRanksOf(std::span<const int> ranks) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> job_ranks_;
  Waiter waiter_;
};

/// The value of each rank, in rank order. Collective.
template <class Value>
std::vector<Value> AllgatherValues(Communicator& communicator, const Value& value) {
  const auto bytes = communicator.Allgather(&value, sizeof value);
  std::vector<Value> values(bytes.size() / sizeof value);
  std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(values.data()));
  return values;
}

}  // namespace slipway::runtime
