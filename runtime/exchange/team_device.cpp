/// What a team does for tensors in the memory of a GPU.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "runtime/device/nccl.h"
#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/cpu_work.h"
#include "runtime/exchange/shares.h"
#include "runtime/exchange/team.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

/// Looks at the device before a thread sleeps between two.
constexpr int kLooksAwake = 2000;
constexpr int kPausesBetweenLooks = 16;
constexpr auto kSleepBetweenLooks = std::chrono::microseconds(20);

constexpr std::int64_t kLeastPart = 1024;  ///< bytes of a tensor that travel by themselves

/// Ranks meet for each bucket, and GPUs add it up faster than the link moves it: few large ones.
constexpr std::int64_t kCombinedBucketBytes = 32 << 20;

/// Each device once.
std::vector<DevicePlace> ManagedPlacesOf(std::span<const TensorInfo> tensors) {
  std::vector<DevicePlace> places;
  for (const auto& tensor : tensors) {
    const auto place = ManagedPlaceOf(tensor.data);
    if (place && std::ranges::find(places, *place) == places.end()) places.push_back(*place);
  }
  return places;
}

std::vector<int> AllIndices(std::size_t count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace

void Team::FindValues() {
  combined_ = nullptr;
  device_.reset();
  untouched_.reset();
  way_ = {};
  dealt_.clear();
  values_.clear();
  const auto place = PlaceOf(parts_.tensors);
  OnAllRanks(group_->communicator(), [&] { places_ = place ? std::vector{*place} : ManagedPlacesOf(parts_.tensors); });
  if (!place) {
    values_ = parts_.tensors;
    return;
  }
  untouched_.emplace(*place);
  // A lone rank's result is what it has. It shows whether NCCL works here, where there is one.
  const bool by_nccl = parts_.settings.gpu_exchange == GpuExchange::kNccl && Nccl::IsThere(*place->driver);
  if (group_->alone() && !WhyNotPlain() && !by_nccl) return;
  MakeDeviceTensors(*place);
  values_ = device_->values();
}

void Team::MakeDeviceTensors(const DevicePlace& place) {
  way_ = ChooseGpuWay({place, parts_.tensors, parts_.settings, WhyNotPlain(), CombinedBucketBytes(), parts_.name},
                      *group_);
  if (way_.tensors != nullptr) {
    combined_ = way_.tensors.get();
    device_ = std::move(way_.tensors);
    return;
  }
  OnAllRanks(group_->communicator(), [&] {
    const auto part = std::max(parts_.settings.bucket_bytes, kLeastPart);
    DeviceImages::Sizes sizes{.largest = MayDivide() && SplitsTensors() ? part : 0, .together = part};
    DealtBuckets dealt;
    if (sizes.largest == 0 && MayDivide()) {
      dealt = DealBuckets(PlanBuckets(parts_.tensors, BucketBytes()), parts_.tensors, parts_.settings, part, *group_);
      sizes.together = dealt.part_bytes;
    }
    device_ = std::make_unique<DeviceImages>(place, parts_.tensors, sizes, group_->memory().pool, dealt.images);
    dealt_ = std::move(dealt.plans);
  });
}

/// Null where the tensors lie in CPU memory: there the program computes with its processors.
CombineThreads* Team::ThreadsOfStaged() const { return IsStaged() ? group_->ThreadsForGpus() : nullptr; }

void Team::LetThreadsCombine() {
  for (auto& bucket : buckets_) bucket.CombineBy(ThreadsOfStaged());
}

/// What values are exchanged together.
std::vector<BucketPlan> Team::Plans() const { return dealt_.empty() ? PlanBuckets(values_, BucketBytes()) : dealt_; }

/// The default of exchanges through the CPU is none of those between GPUs.
std::int64_t Team::CombinedBucketBytes() const {
  const auto asked = parts_.settings.bucket_bytes;
  return asked == TeamSettings().bucket_bytes ? kCombinedBucketBytes : asked;
}

std::int64_t Team::BucketBytes() const {
  return combined_ != nullptr ? CombinedBucketBytes() : parts_.settings.bucket_bytes;
}

Json Team::GpuFacts() const {
  Json facts{{"way", Way()}};
  if (combined_ != nullptr && combined_->way() == CombineWay::kDirect) facts["waits"] = WordOf(combined_->waits());
  if (IsStaged()) facts["sum_threads"] = group_->channel() != nullptr ? group_->memory().threads.number() : 1;
  for (const auto& [way, milliseconds] : way_.measured) facts["measured_ms"][std::string(WordOf(way))] = milliseconds;
  if (way_.without_direct) facts["without_direct"] = WordsOf(*way_.without_direct);
  if (!way_.without_nccl.empty()) facts["without_nccl"] = way_.without_nccl;
  if (!way_.without_mpi.empty()) facts["without_mpi"] = way_.without_mpi;
  return facts;
}

std::string_view Team::Way() const {
  if (!untouched_) return "cpu";
  if (combined_ != nullptr) return WordOf(combined_->way());
  return IsStaged() ? WordOf(CombineWay::kStaged) : "none";
}

void Team::RequireInCpuMemory(int index, const void* data) const {
  const auto& tensor = parts_.tensors[static_cast<std::size_t>(index)];
  if (!untouched_ && (data != nullptr || tensor.bytes() == 0)) return;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                     fmt::format("tensor '{}' of team '{}' {}", tensor.name, parts_.name,
                                 untouched_ ? "lies in GPU memory: copy to it, and call slipway_submit_on_stream"
                                            : "is to be taken from a null pointer"));
}

/// Of a thread of the program: that of the group is the one of the team's thread, which changes it. It need not know
/// how many ranks share the cores.
Waiter Team::ProgramsWaiter() const { return {watch_, Waiter::Manner::kForeground, true}; }

/// Before the program's tensors are looked at: the CPU reads and writes managed memory itself. Without the lock, which
/// the team's thread needs.
void Team::AwaitProgram(StreamHandle stream) const {
  for (const auto& place : places_) {
    RequireNotCaptured(place, stream);
    if (!untouched_) Parting([&] { AwaitWork(place, stream, ProgramsWaiter()); });
  }
}

/// Before the CPU reads `data`, which is no tensor of the team. Without the lock. Of a team on a GPU, all data is
/// refused later.
void Team::AwaitGiven(const void* data) const {
  if (untouched_) return;
  RequireCpuMemory(data, "the data");
  Parting([&] { AwaitManaged(data, nullptr, ProgramsWaiter()); });
}

void Team::CloseDevices() {
  StopThread();
  combined_ = nullptr;
  device_.reset();
}

/// Nothing where nobody but the exchange itself has to see the values.
std::optional<CpuWork> Team::WhyNotPlain() const { return FirstCpuWork(parts_.settings, parts_.sums != nullptr); }

/// Whether tensors may travel in parts: check sums, norms and the gradients of a checkpoint would have other bits.
bool Team::MayDivide() const { return !parts_.sums && parts_.settings.clip_norm == 0 && parts_.settings.lag == 0; }

/// Whether tensors are divided: that leaves the bits of their sums as they are.
bool Team::SplitsTensors() const {
  std::size_t largest = static_cast<std::size_t>(parts_.settings.bucket_bytes);
  for (const auto& tensor : parts_.tensors) largest += tensor.bytes();
  return SplitsFreely(*group_, static_cast<std::int64_t>(largest));
}

/// Whether a bucket of this step may go back to the device as soon as it is exchanged: nothing changes it afterwards.
bool Team::StoresAtOnce() const {
  return device_ != nullptr && current_ && !current_->slot && pending_.empty() && KeepsSums(parts_.settings);
}

/// An error of the device ends the team: the other ranks are in the exchange. With the lock held.
void Team::OnDevice(const std::function<void()>& action) {
  const auto error = ErrorOf([&] { Parting(action); });
  if (error && !failure_) failure_ = error;
}

void Team::FetchFromDevice(std::span<const int> tensors, StreamHandle stream) {
  OnDevice([&] {
    if (device_ != nullptr && Exchanges()) {
      if (!first_copy_) first_copy_ = StepTrace::Clock::now();
      device_->Fetch(tensors, stream);
    } else {
      untouched_->Add(stream);
    }
  });
  if (failure_) std::rethrow_exception(failure_);
}

/// The result goes to the device, unless it is there already. Later work of `stream` finds it.
void Team::Return(bool stored, StreamHandle stream) {
  if (!untouched_) return;
  const std::lock_guard lock(mutex_);
  OnDevice([&] {
    if (device_ != nullptr && !stored) StoreOnDevice(AllIndices(values_.size()), step_);
    if (device_ != nullptr) device_->Release(stream);
    untouched_->HoldBack(stream);
    trace_.GpuHasAll();
    TraceEndOfGpuWork();
  });
  if (failure_) std::rethrow_exception(failure_);
}

void Team::AwaitResult() {
  if (device_ == nullptr) return;
  const BesideCaptures beside(places_.front().driver);
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (submitted_count_ > 0) return;  // the team's thread may be in the next step
  // Between steps, the team's thread uses that of the group for delayed ones alone.
  auto waiter = parts_.settings.lag > 0 ? ProgramsWaiter() : group_->communicator().waiter();
  waiter.SetManner(Waiter::Manner::kForeground);
  OnDevice([&] {
    device_->AwaitResult(waiter);
    TraceEndOfGpuWork();
  });
  if (failure_) std::rethrow_exception(failure_);
}

void Team::CountArrived() {
  OnDevice([&] {
    while (const auto value = device_->TakeArrived()) Count(*value);
    TraceEndOfGpuWork();
  });
  if (!first_copy_ || Fetching() || combined_ != nullptr) return;
  trace_.AddCopies(*first_copy_, StepTrace::Clock::now(), step_, static_cast<std::int64_t>(bytes_));
  first_copy_.reset();
}

/// NCCL and MPI are waited for, so that the time of an exchange has their work.
void Team::CombineOnDevice(std::size_t bucket, std::int64_t step) {
  if (combined_->way() == CombineWay::kDirect) trace_.BeginGpuWork(step);
  Parting([&] { combined_->Combine(bucket, *group_); });
}

void Team::StoreOnDevice(std::span<const int> values, std::int64_t step) {
  trace_.BeginGpuWork(step);
  Parting([&] { device_->Store(values); });
}

/// With the lock held. Errors: DeviceError.
void Team::TraceEndOfGpuWork() {
  if (!trace_.AwaitsGpu() || device_->IsAtWork()) return;
  trace_.EndGpuWork(combined_ != nullptr ? "sums" : "copies to the GPU", static_cast<std::int64_t>(bytes_));
}

/// Returns after one look, or a bucket is ready. `looks`: how often there was nothing so far. In the foreground, after
/// many looks it returns when something has come.
void Team::AwaitArrival(std::unique_lock<std::mutex>& lock, Waiter::Manner manner, int looks) {
  const auto before = ready_;
  CountArrived();
  if (failure_ || ready_ != before || !Polling()) return;
  lock.unlock();
  std::exception_ptr error;
  if (manner == Waiter::Manner::kBackground) {
    std::this_thread::sleep_for(kSleepBetweenLooks);
  } else if (looks < kLooksAwake) {
    for (int i = 0; i < kPausesBetweenLooks; ++i) Pause();
  } else {
    error = ErrorOf([&] { AwaitLateArrival(before); });
  }
  lock.lock();
  if (error && !failure_) failure_ = error;
}

/// Without the lock. Returns when more than `before` buckets are ready, or there is nothing to wait for. The copies
/// come after what the program's stream was given, and that may wait for the GPU of a rank that has died.
void Team::AwaitLateArrival(std::size_t before) {
  const auto over = [&] {
    const std::lock_guard look(mutex_);
    CountArrived();
    return failure_ || ready_ != before || !Fetching();
  };
  if (group_->communicator().waiter().StayAwake(over)) return;
  Waiter(watch_, Waiter::Manner::kBackground, true).UntilGpu(over);
}

void Team::AwaitArrivals(std::unique_lock<std::mutex>& lock) {
  for (int looks = 0; Fetching() && !failure_; ++looks) AwaitArrival(lock, Waiter::Manner::kForeground, looks);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace slipway::runtime
