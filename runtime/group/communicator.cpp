#include "runtime/group/communicator.h"

#include <algorithm>
#include <limits>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// MPI counts are ints.
constexpr std::size_t kLargestCount = std::size_t{1} << 30;

int LocalRankIn(MPI_Comm communicator, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int local = 0;
  MPI_Comm_rank(node, &local);
  MPI_Comm_free(&node);
  return local;
}

}  // namespace

void CheckMpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw RuntimeError(SLIPWAY_ERROR_MPI, std::string(what) + " failed: " + text);
}

std::unique_ptr<Communicator> Communicator::Alone() { return std::unique_ptr<Communicator>(new Communicator()); }

std::unique_ptr<Communicator> Communicator::DuplicateOf(MPI_Comm parent) {
  std::unique_ptr<Communicator> made(new Communicator());
  CheckMpi(MPI_Comm_dup(parent, &made->communicator_), "MPI_Comm_dup");
  CheckMpi(MPI_Comm_set_errhandler(made->communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_rank(made->communicator_, &made->rank_);
  MPI_Comm_size(made->communicator_, &made->size_);
  made->local_rank_ = LocalRankIn(made->communicator_, made->rank_);
  return made;
}

Communicator::~Communicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!alone() && finalized == 0) MPI_Comm_free(&communicator_);
}

void Communicator::Barrier() {
  if (!alone()) CheckMpi(MPI_Barrier(communicator_), "MPI_Barrier");
}

void Communicator::Broadcast(void* data, std::size_t bytes, int root) {
  if (alone()) return;
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto piece = std::min(bytes, kLargestCount);
    CheckMpi(MPI_Bcast(at, static_cast<int>(piece), MPI_BYTE, root, communicator_), "MPI_Bcast");
    at += piece;
    bytes -= piece;
  }
}

std::string Communicator::BroadcastText(const std::string& text, int root) {
  std::uint64_t size = text.size();
  Broadcast(&size, sizeof size, root);
  std::string received = text;
  received.resize(size);
  Broadcast(received.data(), size, root);
  return received;
}

std::uint64_t Communicator::Max(std::uint64_t value) {
  if (!alone()) {
    CheckMpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, communicator_), "MPI_Allreduce");
  }
  return value;
}

std::uint64_t Communicator::Min(std::uint64_t value) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return kMost - Max(kMost - value);
}

}  // namespace slipway::runtime
