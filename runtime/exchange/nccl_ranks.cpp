#include "runtime/exchange/nccl_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/device_memory.h"
#include "runtime/exchange/gpu_of_rank.h"
#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// A rank may die and NCCL notice it first: so long the watch has to find the name.
constexpr auto kTimeToName = std::chrono::seconds(2);
/// The other ranks end the communicator at the same time, or they are gone.
constexpr auto kTimeToEnd = std::chrono::seconds(5);
constexpr auto kSleepAtTheEnd = std::chrono::microseconds(100);
constexpr int kInternalError = 3;  // ncclInternalError

/// Where other ways are left: how long ranks may take to connect, and which share of the watch's limit.
constexpr Seconds kMostToConnect{30};
constexpr double kShareOfWatch = 0.5;

/// Nothing: until the watch ends the wait. That ends the job, too.
std::optional<Seconds> TimeToConnect(GpuExchange asked, const Waiter& waiter) {
  if (asked == GpuExchange::kNccl) return std::nullopt;
  return std::min(kMostToConnect, kShareOfWatch * waiter.time_limit());
}

/// The end of a communicator may wait for a rank that has died, for ever: NVIDIA/nccl, issues 863 and 1777. It goes on
/// in a thread of its own then. False: it has not returned in time.
bool ReturnsInTime(int (*end)(Nccl::Communicator), Nccl::Communicator communicator, const DevicePlace& place) {
  const auto returned = std::make_shared<std::promise<void>>();
  const auto in_time = returned->get_future();
  const auto call = [=] {
    const BesideCaptures beside(place.driver);
    WithoutErrors(place, [=](const Driver&) { end(communicator); });
    returned->set_value();
  };
  try {
    std::thread(call).detach();
  } catch (const std::system_error&) {  // no thread is to be had
    call();
  }
  return in_time.wait_for(kTimeToEnd) == std::future_status::ready;
}

RuntimeError NotConnected(Seconds after) {
  return {
      SLIPWAY_ERROR_DEVICE,
      fmt::format("NCCL did not connect the ranks within {:.3g} s: set NCCL_DEBUG=INFO to see why, NCCL_SOCKET_IFNAME "
                  "to a network that joins the nodes, or gpu_exchange to nccl, which waits for resilience.stall_after",
                  after.count())};
}

}  // namespace

std::unique_ptr<NcclRanks> NcclRanks::Connect(const DevicePlace& place, Communicator& ranks, GpuExchange asked) {
  std::unique_ptr<NcclRanks> made;
  GpuOfRank own;
  OnAllRanks(ranks, [&] {
    const auto& nccl = Nccl::Of(*place.driver);
    if (place.driver->memory() == nullptr) {
      throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                         "the driver is too old for NCCL: update it, or set gpu_exchange to auto");
    }
    own = GpuOfThisRank(place);
    made.reset(new NcclRanks(nccl, place, ranks));
  });
  RequireOwnGpus(AllgatherValues(ranks, own), ranks.job_ranks());
  const auto id = OnFirstRank(ranks, [&] {
    Nccl::Id fresh;
    made->nccl_.Check(made->nccl_.ncclGetUniqueId(&fresh), "ncclGetUniqueId");
    return std::string(fresh.bytes.data(), fresh.bytes.size());
  });
  Nccl::Id same;
  id.copy(same.bytes.data(), same.bytes.size());
  const auto limit = TimeToConnect(asked, ranks.waiter());
  const auto error = made->Init(same, limit);
  OnAllRanks(ranks, [&] {  // says more than that others have waited for this rank
    if (error) throw *error;
  });
  OnAllRanks(ranks, [&] {
    if (limit && made->communicator_ == nullptr) throw NotConnected(*limit);
  });
  return made;
}

NcclRanks::NcclRanks(const Nccl& nccl, const DevicePlace& place, Communicator& ranks)
    : nccl_(nccl), place_(place), ranks_(ranks) {}

/// Returns an error of NCCL. After one, and after `limit`, there is no communicator.
/// The others may wait for this rank, and NCCL tells them late or never: so an error is said here, too.
std::optional<RuntimeError> NcclRanks::Init(const Nccl::Id& id, std::optional<Seconds> limit) {
  const auto end =
      limit ? Clock::now() + std::chrono::duration_cast<Clock::duration>(*limit) : Clock::time_point::max();
  const InContext here(place_);
  Nccl::Config config;
  try {
    nccl_.Check(nccl_.ncclCommInitRankConfig(&communicator_, size(), id, rank(), &config), "ncclCommInitRankConfig");
    if (!Settle("ncclCommInitRankConfig", end)) Abort();
    return std::nullopt;
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError& error) {
    const int job_rank = ranks_.job_ranks()[static_cast<std::size_t>(rank())];
    std::fputs(fmt::format("slipway: rank {}: {}\n", job_rank, error.what()).c_str(), stderr);
    Abort();
    return error;
  }
}

/// A failed library may forget its communicator: then there is nothing to ask.
int NcclRanks::State() const {
  int code = kInternalError;
  const int answer = nccl_.ncclCommGetAsyncError(communicator_, &code);
  return answer == Nccl::kSuccess ? code : answer;
}

/// Until NCCL has done what a call has only begun. False: it has not before `end`.
bool NcclRanks::Settle(const char* call, Clock::time_point end) {
  int code = State();
  if (code == Nccl::kInProgress) {
    try {
      ranks_.waiter().Until([&] { return (code = State()) != Nccl::kInProgress || Clock::now() > end; },
                            [this] { return ranks_.JobRanksOfOthers(); });
    } catch (const PartedError&) {
      Abort();
      throw;
    }
  }
  nccl_.Check(code, call, communicator_);
  return code != Nccl::kInProgress;
}

/// The other ranks have queued their part: an error ends it.
template <class Launch>
void NcclRanks::Queue(const char* call, Launch launch) {
  has_queued_ = true;
  try {
    const int code = launch();
    nccl_.Check(code, call, communicator_);
    if (code == Nccl::kInProgress) Settle(call);
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError& error) {
    Abort();
    throw PartedError(error);
  }
}

void NcclRanks::AllReduce(Pieces pieces, const Reduction& reduction, StreamHandle stream) {
  const InContext here(place_);
  Queue("ncclAllReduce", [&] {
    int code = nccl_.ncclGroupStart();
    if (code != Nccl::kSuccess) return code;
    for (const auto& piece : pieces) {
      const int queued =
          nccl_.ncclAllReduce(piece.data, piece.data, static_cast<std::size_t>(piece.count),
                              Nccl::CodeOf(reduction.dtype), Nccl::CodeOf(reduction.op), communicator_, stream);
      if (queued != Nccl::kSuccess && queued != Nccl::kInProgress) code = queued;
    }
    const int ended = nccl_.ncclGroupEnd();
    return code != Nccl::kSuccess ? code : ended;
  });
}

void NcclRanks::ReduceScatter(char* data, std::int64_t share, const Reduction& reduction, StreamHandle stream) {
  const InContext here(place_);
  char* own = data + BytesOf(share * rank(), SizeOf(reduction.dtype));
  Queue("ncclReduceScatter", [&] {
    return nccl_.ncclReduceScatter(data, own, static_cast<std::size_t>(share), Nccl::CodeOf(reduction.dtype),
                                   Nccl::CodeOf(reduction.op), communicator_, stream);
  });
}

void NcclRanks::AllGather(char* data, std::int64_t share, slipway_dtype dtype, StreamHandle stream) {
  const InContext here(place_);
  const char* own = data + BytesOf(share * rank(), SizeOf(dtype));
  Queue("ncclAllGather", [&] {
    return nccl_.ncclAllGather(own, data, static_cast<std::size_t>(share), Nccl::CodeOf(dtype), communicator_, stream);
  });
}

void NcclRanks::Await(const DeviceEvent& point) {
  int code = Nccl::kSuccess;
  const auto over = [&] {
    if (point.Reached()) return true;
    code = State();
    return code != Nccl::kSuccess && code != Nccl::kInProgress;
  };
  try {
    ranks_.waiter().Until(over, [this] { return ranks_.JobRanksOfOthers(); });
  } catch (...) {  // the watch, or the device
    Abort();
    throw;
  }
  if (code != Nccl::kSuccess && code != Nccl::kInProgress) GiveUp(code, "an exchange by NCCL");
}

void NcclRanks::Await(const DeviceEvent& values, const DeviceEvent& point) {
  try {
    AwaitPoint(values, ranks_.waiter());
  } catch (...) {
    Abort();
    throw;
  }
  Await(point);
}

/// When a rank has died, its name says more than NCCL does.
void NcclRanks::GiveUp(int code, const char* call) {
  try {
    nccl_.Check(code, call, communicator_);
  } catch (const RuntimeError& error) {
    Abort();
    const auto end = Clock::now() + kTimeToName;
    ranks_.waiter().Until([&] { return Clock::now() > end; }, [this] { return ranks_.JobRanksOfOthers(); });
    throw PartedError(error);
  }
}

void NcclRanks::Abort() {
  if (communicator_ == nullptr) return;
  const auto communicator = std::exchange(communicator_, nullptr);
  if (!ReturnsInTime(nccl_.ncclCommAbort, communicator, place_) && has_queued_) NoteGivingUp();
}

NcclRanks::~NcclRanks() {
  if (communicator_ == nullptr) return;
  int code = kInternalError;
  WithoutErrors(place_, [&](const Driver&) {
    code = nccl_.ncclCommFinalize(communicator_);
    const auto end = Clock::now() + kTimeToEnd;
    while (code == Nccl::kInProgress && Clock::now() < end) {
      std::this_thread::sleep_for(kSleepAtTheEnd);
      code = State();
    }
  });
  ReturnsInTime(code == Nccl::kSuccess ? nccl_.ncclCommDestroy : nccl_.ncclCommAbort, communicator_, place_);
}

}  // namespace slipway::runtime
