/// The ranks of the job, over MPI, or a lone rank without it.
///
/// Every function is collective. Errors: RuntimeError(SLIPWAY_ERROR_MPI); after it the communicator cannot be used.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/slipway.h"

namespace slipway::runtime {

/// Throws RuntimeError naming `what` unless `code` is MPI_SUCCESS.
void CheckMpi(int code, const char* what);

class Communicator {
 public:
  /// One rank, no MPI.
  static std::unique_ptr<Communicator> Alone();
  /// A private duplicate of `parent`, with errors returned instead of ending the program.
  static std::unique_ptr<Communicator> DuplicateOf(MPI_Comm parent);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  bool alone() const { return communicator_ == MPI_COMM_NULL; }
  MPI_Comm handle() const { return communicator_; }

  void Barrier();
  /// Copies `bytes` bytes from `root` to all.
  void Broadcast(void* data, std::size_t bytes, int root);
  std::string BroadcastText(const std::string& text, int root);
  /// The largest / smallest value of any rank.
  std::uint64_t Max(std::uint64_t value);
  std::uint64_t Min(std::uint64_t value);

 private:
  Communicator() = default;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
};

}  // namespace slipway::runtime
