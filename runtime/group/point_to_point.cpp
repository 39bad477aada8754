#include "runtime/group/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// MPI counts are ints.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;
/// Looks, each after the receive was tested again, until a message of another kind is believed.
constexpr int kLooksAtOthers = 3;

/// A tag for the size and the purpose of a message. So a message meets only a receive of the same kind. MPI has been
/// seen to write past the end of a receive that is too short. MPI promises tags up to 32767.
int TagOf(std::size_t bytes, std::uint32_t signature) {
  const auto mixed = (bytes * 31 + signature) * 0x9e3779b97f4a7c15u;
  return 1 + static_cast<int>((mixed >> 32) % 32'000);
}

std::vector<int> AllOf(const Communicator& communicator) {
  std::vector<int> members(static_cast<std::size_t>(communicator.size()));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

PointToPoint::PointToPoint(Communicator& communicator, std::vector<int> members)
    : communicator_(communicator), members_(std::move(members)) {
  rank_ = static_cast<int>(std::find(members_.begin(), members_.end(), communicator.rank()) - members_.begin());
}

PointToPoint::PointToPoint(Communicator& communicator) : PointToPoint(communicator, AllOf(communicator)) {}

std::size_t PointToPoint::Start(Transfer transfer, char* data) {
  const int partner = members_[static_cast<std::size_t>(transfer.partner)];
  for (std::size_t done = 0; done < transfer.bytes; done += kLargestMessage) {
    const auto count = static_cast<int>(std::min(kLargestMessage, transfer.bytes - done));
    MPI_Request request = MPI_REQUEST_NULL;
    const auto comm = communicator_.handle();
    const int tag = TagOf(static_cast<std::size_t>(count), signature_);
    CheckMpi(transfer.receives ? MPI_Irecv(data + done, count, MPI_BYTE, partner, tag, comm, &request)
                               : MPI_Isend(data + done, count, MPI_BYTE, partner, tag, comm, &request),
             "starting a message");
    transfer.requests.push_back(request);
  }
  transfers_.push_back(std::move(transfer));
  return transfers_.size() - 1;
}

std::size_t PointToPoint::StartReceive(int from, void* in, std::size_t bytes) {
  return Start({.partner = from, .bytes = bytes, .receives = true, .requests = {}, .others = 0},
               static_cast<char*>(in));
}

std::size_t PointToPoint::StartSend(int to, const void* out, std::size_t bytes) {
  if (bytes > 0) {
    ++counters_.messages_sent;
    counters_.bytes_sent += static_cast<std::int64_t>(bytes);
  }
  return Start({.partner = to, .bytes = bytes, .receives = false, .requests = {}, .others = 0},
               const_cast<char*>(static_cast<const char*>(out)));  // MPI reads it
}

void PointToPoint::Finish(std::size_t started) {
  auto& transfer = transfers_[started];
  if (transfer.requests.empty()) return;
  const int partner = members_[static_cast<std::size_t>(transfer.partner)];
  try {
    communicator_.Complete(transfer.requests, [&] {
      if (transfer.receives) RefuseOtherMessage(transfer, partner);
      return std::vector<int>{partner};
    });
  } catch (...) {
    CancelReceives();
    throw;
  }
  transfer.requests.clear();
}

/// While a receive waits: a message of its partner that it did not take is of another kind. But not at the first look:
/// the right message and the one after it may both have come since the receive was tested.
void PointToPoint::RefuseOtherMessage(Transfer& transfer, int partner) {
  int found = 0;
  MPI_Status status;
  CheckMpi(MPI_Iprobe(partner, MPI_ANY_TAG, communicator_.handle(), &found, &status), "MPI_Iprobe");
  if (found == 0 || ++transfer.others < kLooksAtOthers) return;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  throw PartedError(
      SLIPWAY_ERROR_MISMATCH,
      fmt::format("rank {} sent a message of {} bytes where one of {} was expected: it calls with another "
                  "size, dtype or operation, or in another order",
                  communicator_.job_ranks()[static_cast<std::size_t>(partner)], bytes, transfer.bytes));
}

/// A caller that catches the error may free the memory of the receives.
void PointToPoint::CancelReceives() {
  for (auto& transfer : transfers_) {
    for (auto& request : transfer.requests) {
      if (request == MPI_REQUEST_NULL) continue;
      if (transfer.receives) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  transfers_.clear();
}

void PointToPoint::FinishStep() {
  for (std::size_t i = 0; i < transfers_.size(); ++i) Finish(i);
  transfers_.clear();
  ++counters_.steps;
}

void PointToPoint::Exchange(int to, const void* out, std::size_t out_bytes, int from, void* in, std::size_t in_bytes) {
  StartReceive(from, in, in_bytes);
  StartSend(to, out, out_bytes);
  FinishStep();
}

void PointToPoint::Broadcast(int root, void* data, std::size_t bytes) {
  if (rank_ != root) return Receive(root, data, bytes);
  for (int member = 0; member < size(); ++member) {
    if (member != root) StartSend(member, data, bytes);
  }
  FinishStep();
}

std::vector<char> PointToPoint::Smallest(std::vector<char> values) {
  const auto bytes = values.size();
  std::vector<char> others(bytes * members_.size());
  const auto part = [&](int member) { return others.data() + bytes * static_cast<std::size_t>(member); };
  for (int member = 0; member < size(); ++member) {
    if (member != rank_) StartReceive(member, part(member), bytes);
  }
  for (int member = 0; member < size(); ++member) {
    if (member != rank_) StartSend(member, values.data(), bytes);
  }
  FinishStep();
  auto least = values;
  for (int member = 0; member < size(); ++member) {
    for (std::size_t i = 0; member != rank_ && i < bytes; ++i) least[i] = std::min(least[i], part(member)[i]);
  }
  return least;
}

}  // namespace slipway::runtime
