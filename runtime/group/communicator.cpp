#include "runtime/group/communicator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/memory/scratch.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// MPI counts are ints; and this much memory is used meanwhile.
constexpr std::size_t kLargestPiece = std::size_t{1} << 26;

std::vector<int> RanksOf(MPI_Comm communicator) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// A barrier with the waiter's time limit: MPI's own calls wait for a missing rank for ever. It does not find out which
/// ranks are missing.
void MeetAll(MPI_Comm communicator, Waiter& waiter) {
  MPI_Request request = MPI_REQUEST_NULL;
  CheckMpi(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
  const auto met = [&] {
    int done = 0;
    CheckMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  };
  const auto others = [&] {
    int own = 0;
    MPI_Comm_rank(communicator, &own);
    auto ranks = RanksOf(communicator);
    std::erase(ranks, own);
    return ranks;
  };
  waiter.Until(met, others);
}

}  // namespace

void CheckMpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw PartedError(SLIPWAY_ERROR_MPI, std::string(what) + " failed: " + text);
}

Communicator::Communicator(MPI_Comm communicator, std::vector<int> job_ranks, Waiter waiter)
    : communicator_(communicator), job_ranks_(std::move(job_ranks)), waiter_(waiter) {
  if (alone()) return;
  CheckMpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

std::unique_ptr<Communicator> Communicator::Alone(Waiter waiter) {
  return std::unique_ptr<Communicator>(new Communicator(MPI_COMM_NULL, {0}, waiter));
}

std::unique_ptr<Communicator> Communicator::OfJob(MPI_Comm parent, Waiter waiter) {
  MeetAll(parent, waiter);
  MPI_Comm copy = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_dup(parent, &copy), "MPI_Comm_dup");
  return std::unique_ptr<Communicator>(new Communicator(copy, RanksOf(parent), waiter));
}

std::unique_ptr<Communicator> Communicator::Duplicate(Waiter waiter) {
  Barrier();  // MPI's own call would wait for a missing rank for ever
  MPI_Comm copy = MPI_COMM_NULL;
  if (!alone()) CheckMpi(MPI_Comm_dup(communicator_, &copy), "MPI_Comm_dup");
  return std::unique_ptr<Communicator>(new Communicator(copy, job_ranks_, waiter));
}

std::unique_ptr<Communicator> Communicator::Subgroup(std::span<const int> ranks, Waiter waiter) {
  if (alone()) return Alone(waiter);
  Barrier();  // as in Duplicate
  const auto place = std::find(ranks.begin(), ranks.end(), rank_);
  MPI_Comm part = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_split(communicator_, place == ranks.end() ? MPI_UNDEFINED : ranks.front(),
                          static_cast<int>(place - ranks.begin()), &part),
           "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::unique_ptr<Communicator>(new Communicator(part, JobRanksOf(ranks), waiter));
}

std::unique_ptr<Communicator> Communicator::SubgroupByMembers(std::span<const int> ranks, int tag, Waiter waiter) {
  if (alone()) return Alone(waiter);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm part = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_group(communicator_, &all), "MPI_Comm_group");
  CheckMpi(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members), "MPI_Group_incl");
  const int code = MPI_Comm_create_group(communicator_, members, tag, &part);
  MPI_Group_free(&members);
  MPI_Group_free(&all);
  CheckMpi(code, "MPI_Comm_create_group");
  return std::unique_ptr<Communicator>(new Communicator(part, JobRanksOf(ranks), waiter));
}

std::vector<int> Communicator::JobRanksOf(std::span<const int> ranks) const {
  std::vector<int> job_ranks;
  for (const int rank : ranks) job_ranks.push_back(job_ranks_[static_cast<std::size_t>(rank)]);
  return job_ranks;
}

std::vector<int> Communicator::JobRanksOfOthers() const {
  auto others = job_ranks_;
  others.erase(others.begin() + rank_);
  return others;
}

Communicator::~Communicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!alone() && finalized == 0) MPI_Comm_free(&communicator_);
}

void Communicator::Complete(std::span<MPI_Request> requests, const std::function<std::vector<int>()>& missing) {
  int done = 0;
  int code = MPI_SUCCESS;
  const auto ready = [&] {
    code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0 || code != MPI_SUCCESS;
  };
  const auto missing_in_job = [&] {
    auto ranks = missing();
    for (auto& rank : ranks) rank = job_ranks_[static_cast<std::size_t>(rank)];
    return ranks;
  };
  waiter_.Until(ready, missing_in_job);
  CheckMpi(code, "a message");
}

void Communicator::CompleteWithAll(MPI_Request request) {
  Complete({&request, 1}, [&] {
    std::vector<int> others;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_) others.push_back(rank);
    }
    return others;
  });
}

void Communicator::Barrier() {
  if (alone()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  CheckMpi(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier");
  CompleteWithAll(request);
}

// A collective of MPI cannot be cancelled. So it works on memory that is given up when a wait for others fails.
// Otherwise a late message could overwrite memory that the caller uses again.

void Communicator::Broadcast(void* data, std::size_t bytes, int root) {
  if (alone()) return;
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto piece = std::min(bytes, kLargestPiece);
    Scratch travelling(piece);
    if (rank_ == root) std::memcpy(travelling.data(), at, piece);
    MPI_Request request = MPI_REQUEST_NULL;
    CheckMpi(MPI_Ibcast(travelling.data(), static_cast<int>(piece), MPI_BYTE, root, communicator_, &request),
             "MPI_Ibcast");
    CompleteWithAll(request);
    if (rank_ != root) std::memcpy(at, travelling.data(), piece);
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

std::vector<char> Communicator::Allgather(const void* data, std::size_t bytes) {
  const auto total = bytes * static_cast<std::size_t>(size_);
  const auto* own = static_cast<const char*>(data);
  if (alone()) return {own, own + bytes};
  Scratch travelling(bytes + total);
  char* all = travelling.data() + bytes;
  std::memcpy(travelling.data(), data, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto count = static_cast<int>(bytes);
  CheckMpi(MPI_Iallgather(travelling.data(), count, MPI_BYTE, all, count, MPI_BYTE, communicator_, &request),
           "MPI_Iallgather");
  CompleteWithAll(request);
  return {all, all + total};
}

std::uint64_t Communicator::Max(std::uint64_t value) {
  if (alone()) return value;
  Scratch travelling(sizeof value);
  std::memcpy(travelling.data(), &value, sizeof value);
  MPI_Request request = MPI_REQUEST_NULL;
  CheckMpi(MPI_Iallreduce(MPI_IN_PLACE, travelling.data(), 1, MPI_UINT64_T, MPI_MAX, communicator_, &request),
           "MPI_Iallreduce");
  CompleteWithAll(request);
  std::memcpy(&value, travelling.data(), sizeof value);
  return value;
}

std::uint64_t Communicator::Min(std::uint64_t value) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return kMost - Max(kMost - value);
}

}  // namespace slipway::runtime
