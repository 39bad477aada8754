#include "runtime/server/shard_server.h"

#include <sched.h>

#include <string_view>
#include <utility>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// After a request the next one is often near.
constexpr microseconds kYielding{50};

Answer Refusal(const RuntimeError& error) {
  Answer answer{.status = error.status()};
  const std::string_view text = error.what();
  answer.message[text.copy(answer.message, sizeof answer.message - 1)] = '\0';
  return answer;
}

}  // namespace

ShardServer::ShardServer(Shard shard, Communicator& communicator)
    : communicator_(communicator), shard_(std::move(shard)), block_(communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  frames_.assign(ranks > 1 ? ranks : 0, Frame(shard_.layout().bytes));
  requests_.assign(ranks, MPI_REQUEST_NULL);
  answering_.assign(ranks, 0);
  finished_.resize(ranks);
  if (ranks > 1) thread_ = std::thread([this] { Run(); });
}

ShardServer::~ShardServer() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

int ShardServer::Reply(int rank, Frame& frame) {
  const std::lock_guard lock(mutex_);
  const auto request = frame.Read<Request>();
  if (refusal_.status == SLIPWAY_OK) Do(request, rank, frame);
  auto answer = refusal_;
  answer.lead = shard_.Lead(rank);
  frame.Write(answer);
  return request.kind == Request::Kind::kPush ? 1 : frame.count();
}

void ShardServer::Do(const Request& request, int rank, Frame& frame) try {
  if (request.kind == Request::Kind::kPush) {
    shard_.Push(rank, request.rate, frame.elements());
  } else {
    shard_.Pull(frame.elements());
  }
} catch (const RuntimeError& error) {
  refusal_ = Refusal(error);
}

std::vector<int> ShardServer::Behind(int rank) const {
  const std::lock_guard lock(mutex_);
  return shard_.Behind(rank);
}

void ShardServer::RequireAlive() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

// The thread.

void ShardServer::Run() try {
  auto last = Clock::now();
  while (!stop_) {
    Listen();
    const auto now = Clock::now();
    if (Serve()) {
      last = now;
    } else if (const auto idle = std::chrono::duration_cast<microseconds>(now - last); idle < kYielding) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(NapAfter(idle));
    }
  }
  Close();
} catch (...) {
  const std::lock_guard lock(mutex_);
  failure_ = std::current_exception();
}

/// A rank that the shard does not listen to yet is left alone: its message waits.
void ShardServer::Listen() {
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (requests_[i] != MPI_REQUEST_NULL || (refusal_.status == SLIPWAY_OK && !shard_.Listens(rank))) continue;
    auto& frame = frames_[i];
    CheckMpi(MPI_Irecv(frame.blocks(), frame.count(), block_.get(), rank, kRequestTag, communicator_.handle(),
                       &requests_[i]),
             "listening to a rank");
  }
}

/// True when anything has come or gone.
bool ShardServer::Serve() {
  int count = 0;
  CheckMpi(MPI_Testsome(communicator_.size(), requests_.data(), &count, finished_.data(), MPI_STATUSES_IGNORE),
           "serving parameters");
  if (count == MPI_UNDEFINED) return false;  // there is nothing to wait for
  for (int i = 0; i < count; ++i) {
    const int rank = finished_[static_cast<std::size_t>(i)];
    if (!std::exchange(answering_[static_cast<std::size_t>(rank)], 0)) SendAnswer(rank);
  }
  return count > 0;
}

void ShardServer::SendAnswer(int rank) {
  const auto i = static_cast<std::size_t>(rank);
  const int blocks = Reply(rank, frames_[i]);
  answering_[i] = 1;
  CheckMpi(
      MPI_Isend(frames_[i].blocks(), blocks, block_.get(), rank, kAnswerTag, communicator_.handle(), &requests_[i]),
      "answering a rank");
}

/// All ranks have got their answers: pending sends complete by themselves, and no more requests come.
void ShardServer::Close() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (answering_[i] == 0) MPI_Cancel(&requests_[i]);
    MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
  }
}

}  // namespace slipway::runtime
