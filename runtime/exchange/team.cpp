#include "runtime/exchange/team.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/collectives/pieces.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"
#include "runtime/memory/streaming_copy.h"
#include "runtime/status.h"

namespace slipway::runtime {

Team::Team(TeamParts parts, std::unique_ptr<Group> group, Progress progress, Watch& watch, const TraceSettings& trace)
    : parts_(std::move(parts)),
      group_(std::move(group)),
      control_(group_->communicator().Duplicate(group_->communicator().waiter())),
      watch_(watch),
      progress_(progress),
      table_number_(watch.AddTeam(parts_.name)),
      schedule_(ScheduleOf(parts_.settings)),
      trace_(parts_.name, trace) {
  Build();
}

Team::~Team() { StopThread(); }

void Team::StopThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  stop_ = false;
}

void Team::RequireUnused() const {
  const std::lock_guard lock(mutex_);
  if (pass_ > 0 || step_ > 0 || submitted_count_ > 0) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("the team '{}' has made steps already", parts_.name));
  }
}

void Team::Configure(const TeamSettings& settings) {
  const auto schedule = ScheduleOf(settings);
  StopThread();
  parts_.settings = settings;
  schedule_ = schedule;
  failure_ = ErrorOf([this] { Build(); });
  if (failure_) std::rethrow_exception(failure_);
}

Team::Schedule Team::ScheduleOf(const TeamSettings& settings) const {
  const Schedule schedule{settings.sync_first.Of(parts_.total_steps, "sync_first"),
                          settings.sync_last.Of(parts_.total_steps, "sync_last")};
  if (schedule.sync_last > 0 && parts_.total_steps == 0) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "sync_last needs the number of all steps: pass it to slipway_register");
  }
  return schedule;
}

void Team::Build() {
  const auto& settings = parts_.settings;
  // One slot for each step that is on its way, and one that is being filled.
  slots_ = settings.lag > 0 ? settings.lag + 1 : 0;
  buckets_.clear();
  FindValues();
  const auto plans = Plans();
  bucket_of_.assign(values_.size(), -1);
  for (const auto& plan : plans) {
    for (const int tensor : plan.tensors)
      bucket_of_[static_cast<std::size_t>(tensor)] = static_cast<int>(buckets_.size());
    buckets_.emplace_back(plan, values_, settings, slots_, static_cast<std::uint32_t>(buckets_.size() + 1), *group_);
  }
  LetTensorsMove();
  LetThreadsCombine();
  bytes_ = 0;
  for (const auto& tensor : parts_.tensors) bytes_ += tensor.bytes();
  streams_ = OutgrowsTheCache(bytes_);
  submitted_.assign(parts_.tensors.size(), 0);
  waiting_.assign(buckets_.size(), 0);
  if (progress_ == Progress::kThread && !group_->alone()) thread_ = std::thread([this] { Run(); });
}

void Team::LetTensorsMove() {
  board_.reset();
  if (group_->channel() == nullptr || device_ != nullptr) return;
  board_ = PieceBoard::Make(*group_->channel(), values_.size(), group_->memory().pool, group_->node());
  if (!board_) return;
  for (auto& bucket : buckets_) {
    if (bucket.shared()) bucket.LetMove(board_->Next(bucket.plan().tensors.size()));
  }
}

bool Team::Delayed(std::int64_t step) const {
  return parts_.settings.lag > 0 && step >= schedule_.sync_first &&
         (schedule_.sync_last == 0 || step < parts_.total_steps - schedule_.sync_last);
}

bool Team::InFlight() const {
  const std::lock_guard lock(mutex_);
  return submitted_count_ > 0 && !failure_;
}

// Steps, from the program's side.

void Team::StartStep() {
  if (current_) return;
  for (std::size_t i = 0; i < buckets_.size(); ++i) waiting_[i] = static_cast<int>(buckets_[i].plan().tensors.size());
  ready_ = 0;
  first_bad_ = values_.size();
  // With a slot for each step that may be pending, step modulo slots is free.
  current_ =
      Step{.number = step_, .slot = Delayed(step_) ? std::optional(static_cast<int>(step_ % slots_)) : std::nullopt};
  if (!buckets_.empty()) queue_.push_back(*current_);
}

/// That these tensors may be submitted now.
void Team::RequireOpen(std::span<const int> indices) const {
  if (failure_) std::rethrow_exception(failure_);
  for (const int index : indices) RequireOpen(index);
  if (indices.size() < 2) return;
  std::vector<int> ordered(indices.begin(), indices.end());
  std::ranges::sort(ordered);
  const auto twice = std::ranges::adjacent_find(ordered);
  if (twice == ordered.end()) return;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("tensor '{}' is submitted twice in one call",
                                                         parts_.tensors[static_cast<std::size_t>(*twice)].name));
}

void Team::RequireOpen(int index) const {
  if (index < 0 || index >= static_cast<int>(submitted_.size())) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("team '{}' has no tensor {}: it has {}", parts_.name, index, submitted_.size()));
  }
  if (submitted_[static_cast<std::size_t>(index)] != 0) {
    throw RuntimeError(SLIPWAY_ERROR_STATE,
                       fmt::format("tensor '{}' was submitted already in this step: call slipway_wait",
                                   parts_.tensors[static_cast<std::size_t>(index)].name));
  }
}

void Team::Submit(std::span<const int> indices, StreamHandle stream) {
  AwaitProgram(stream);
  const std::lock_guard lock(mutex_);
  RequireOpen(indices);
  if (indices.empty()) return;
  Take(indices, stream);
  WakeThread();
}

/// For a bucket, not for each tensor: on a core that the two share, it takes the program's time.
void Team::WakeThread() {
  if (Exchanges() && (HasWork() || Fetching())) changed_.notify_all();
}

void Team::SubmitFrom(int index, const void* data) {
  const std::span own(&index, 1);
  {
    const std::lock_guard lock(mutex_);
    RequireOpen(own);
  }
  RequireInCpuMemory(index, data);
  AwaitProgram(nullptr);
  AwaitGiven(data);
  const auto& tensor = parts_.tensors[static_cast<std::size_t>(index)];
  if (streams_) {
    StreamingCopy(tensor.data, data, tensor.bytes());
  } else if (tensor.bytes() > 0) {
    std::memcpy(tensor.data, data, tensor.bytes());
  }
  Submit(own);
}

void Team::SubmitAt(int index, void* data) {
  const std::span own(&index, 1);
  AwaitProgram(nullptr);
  AwaitGiven(data);
  const std::lock_guard lock(mutex_);
  RequireOpen(own);
  RequireInCpuMemory(index, data);
  Place(index, data);
  TakePlaced(own, nullptr);
  WakeThread();
}

/// Where the values of a tensor are from this step on.
void Team::Place(int index, void* data) {
  auto& value = values_[static_cast<std::size_t>(index)];
  if (value.data == data) return;
  value.data = data;
  const int bucket = bucket_of_[static_cast<std::size_t>(index)];
  if (bucket >= 0) buckets_[static_cast<std::size_t>(bucket)].Place(index, data);
}

/// Tensors are final where they were registered, or will be when `stream` gets there.
void Team::Take(std::span<const int> indices, StreamHandle stream) {
  for (const int index : indices) {
    if (!untouched_) Place(index, parts_.tensors[static_cast<std::size_t>(index)].data);
  }
  TakePlaced(indices, stream);
}

/// The same, wherever they are.
void Team::TakePlaced(std::span<const int> indices, StreamHandle stream) {
  for (const int index : indices) submitted_[static_cast<std::size_t>(index)] = 1;
  submitted_count_ += static_cast<int>(indices.size());
  if (Exchanges()) StartStep();
  if (untouched_) return FetchFromDevice(indices, stream);
  if (!Exchanges()) return;
  for (const int index : indices) Count(index);
}

/// A value is here.
void Team::Count(int value) {
  if (parts_.settings.check_finite) CheckFinite(value);
  if (parts_.sums) parts_.sums->TakeGradient(step_, value, values_[static_cast<std::size_t>(value)]);
  const int bucket = bucket_of_[static_cast<std::size_t>(value)];
  if (bucket < 0 || --waiting_[static_cast<std::size_t>(bucket)] > 0) return;
  // In a fixed order: a bucket waits for those before it. What is delayed leaves the tensors here.
  while (ready_ < buckets_.size() && waiting_[ready_] == 0) {
    if (current_->slot) buckets_[ready_].CopyIn(*current_->slot);
    ++ready_;
  }
}

bool Team::FitsTheWire(const TensorInfo& tensor) const {
  if (parts_.settings.wire != SLIPWAY_FLOAT16 || tensor.dtype != SLIPWAY_FLOAT32) return true;
  return AllFiniteAs(ThreadsOfStaged(), SLIPWAY_FLOAT16, static_cast<const float*>(tensor.data), tensor.count());
}

void Team::CheckFinite(int value) {
  const auto& tensor = values_[static_cast<std::size_t>(value)];
  if (AllFinite(ThreadsOfStaged(), tensor.data, tensor.count(), tensor.dtype) && FitsTheWire(tensor)) return;
  first_bad_ = std::min(first_bad_, static_cast<std::size_t>(value));
}

/// From the last to the first, as buckets are filled: so the first bucket comes first from a device.
std::vector<int> Team::NotSubmitted() const {
  std::vector<int> left;
  for (std::size_t i = submitted_.size(); i-- > 0;) {
    if (submitted_[i] == 0) left.push_back(static_cast<int>(i));
  }
  return left;
}

void Team::Wait(StreamHandle stream) {
  const auto start = StepClock::now();
  const Watch::Operation operation(watch_, Activity::kGradients, table_number_);
  const BesideCaptures beside(places_.empty() ? nullptr : places_.front().driver);
  AwaitProgram(stream);
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (const auto left = NotSubmitted(); !left.empty()) Take(left, stream);
  delivered_ = false;
  if (Exchanges()) {
    StartStep();
    if (current_->slot) pending_.push_back(*current_);
    const bool stored = StoresAtOnce();
    TakeOver(lock, current_->slot ? step_ - parts_.settings.lag : step_);
    AwaitArrivals(lock);
    lock.unlock();  // the thread goes on with what is delayed
    const auto refused = RefusalOfStep();
    if (refused && current_->slot) pending_.back().refused = true;
    // What was delayed before is delivered in any case: its time is now.
    if (!refused || current_->slot) Deliver();
    if (refused && !current_->slot && parts_.sums) parts_.sums->TakeNoResult(step_);
    Return(stored, stream);
    EndPass(true);
    if (refused) std::rethrow_exception(refused);
    TraceStep(start);
  } else {
    lock.unlock();
    Return(true, stream);
    EndPass(false);
  }
}

void Team::EndPass(bool exchanged) {
  const std::lock_guard lock(mutex_);
  if (exchanged) {
    ++step_;
    watch_.StepDone();
  }
  ++pass_;
  std::fill(submitted_.begin(), submitted_.end(), 0);
  submitted_count_ = 0;
  current_.reset();
  changed_.notify_all();
}

void Team::TraceStep(StepClock::time_point wait_start) {
  if (!trace_.EndStep(wait_start, step_)) return;
  const auto line = trace_.Line(*control_);
  if (!line.empty()) std::fputs(line.c_str(), stderr);
}

// The exchange, from either thread.

bool Team::HasWork() const {
  if (queue_.empty()) return false;
  const auto& step = queue_.front();
  const bool current = current_ && step.number == step_;
  return step.done < (current ? ready_ : buckets_.size());
}

void Team::ExchangeNext(std::unique_lock<std::mutex>& lock, Waiter::Manner manner) {
  const auto index = queue_.front().done;
  auto& bucket = buckets_[index];
  const auto slot = queue_.front().slot;
  const auto number = queue_.front().number;
  const bool store = !slot && StoresAtOnce();
  lock.unlock();
  const auto start = StepClock::now();
  const auto failure = ErrorOf([&] {
    group_->communicator().waiter().SetManner(manner);
    if (combined_ != nullptr) return CombineOnDevice(index, number);
    bucket.Exchange(slot, *group_);
    if (store) StoreOnDevice(bucket.plan().tensors, number);
  });
  trace_.AddExchange(start, StepClock::now(), number, manner == Waiter::Manner::kBackground);
  lock.lock();
  turn_ = Next(turn_, TurnEvent::kBucketDone);
  if (failure && !failure_) failure_ = failure;
  if (++queue_.front().done == buckets_.size()) queue_.pop_front();
  changed_.notify_all();
}

/// The calling thread exchanges what is left up to `last_step`, in the manner of one that has nothing else to do. Newer
/// steps are left to the team's thread: when it does them is different on each rank.
void Team::TakeOver(std::unique_lock<std::mutex>& lock, std::int64_t last_step) {
  turn_ = Next(turn_, TurnEvent::kCallerTakes);
  int looks = 0;
  while (!failure_ && !queue_.empty() && queue_.front().number <= last_step) {
    if (ThreadExchanges(turn_)) {
      AwaitThread(lock);
    } else if (!HasWork()) {
      AwaitArrival(lock, Waiter::Manner::kForeground, ++looks);
    } else {
      looks = 0;
      ExchangeNext(lock, Waiter::Manner::kForeground);
    }
  }
  turn_ = Next(turn_, TurnEvent::kCallerGivesBack);
  changed_.notify_all();
  if (failure_) std::rethrow_exception(failure_);
}

/// Without sleeping, as it will not be long: the next step begins on a core that has not been idle.
void Team::AwaitThread(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  group_->communicator().waiter().StayAwake([this] {
    const std::lock_guard look(mutex_);
    return !ThreadExchanges(turn_);
  });
  lock.lock();
  changed_.wait(lock, [this] { return !ThreadExchanges(turn_); });
}

void Team::Run() {
  const BesideCaptures beside(places_.empty() ? nullptr : places_.front().driver);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock,
                  [&] { return stop_ || ((HasWork() || Polling()) && !failure_ && turn_ == ExchangeTurn::kFree); });
    if (stop_) return;
    if (HasWork()) {
      turn_ = Next(turn_, TurnEvent::kThreadBegins);
      ExchangeNext(lock, Waiter::Manner::kBackground);
    } else {
      AwaitArrival(lock, Waiter::Manner::kBackground, 0);
    }
  }
}

void Team::Drain() {
  {
    std::unique_lock lock(mutex_);
    if (failure_) return;
    TakeOver(lock, step_ - 1);
  }
  AwaitResult();
}

// Results.

void Team::RequireFinite() {
  if (!parts_.settings.check_finite) return;
  const auto firsts = AllgatherValues(*control_, static_cast<std::uint64_t>(first_bad_));
  for (std::size_t rank = 0; rank < firsts.size(); ++rank) {
    if (firsts[rank] == values_.size()) continue;
    const auto message = fmt::format(
        "tensor '{}' of team '{}' holds NaN or infinity{} on rank {} at step {}", values_[firsts[rank]].name,
        parts_.name, parts_.settings.wire == SLIPWAY_FLOAT16 ? ", or more than 16 bits can hold," : "", rank, step_);
    watch_.Remark("not_finite", message, static_cast<int>(rank));
    throw RuntimeError(SLIPWAY_ERROR_NOT_FINITE, message);
  }
  watch_.Withdraw();
}

/// Why the step that is over gives nothing, if so.
std::exception_ptr Team::RefusalOfStep() {
  try {
    RequireFinite();
    return nullptr;
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError&) {
    return std::current_exception();
  }
}

void Team::Deliver() {
  delivered_ = true;
  if (current_->slot) {
    DeliverDelayed();
  } else {
    AddPending();
  }
  if (delivered_) FinishValues();
}

void Team::DeliverDelayed() {
  const auto step = pending_.front();
  const bool due = step.number <= step_ - parts_.settings.lag;
  if (due) pending_.pop_front();
  if (!due || step.refused) {
    if (due && parts_.sums) parts_.sums->TakeNoResult(step.number);
    delivered_ = false;
    return Zero();
  }
  for (auto& bucket : buckets_) bucket.CopyOut(*step.slot);
  if (parts_.sums) parts_.sums->TakeResult(step.number, values_);
}

/// After the last delayed step: what is still on its way is applied with the first synchronous one, so that every
/// gradient counts once.
void Team::AddPending() {
  if (parts_.sums && !pending_.empty()) parts_.sums->TakeNoResult(step_);
  if (parts_.sums) parts_.sums->TakeResult(step_, values_);
  while (!pending_.empty()) {
    const auto step = pending_.front();
    pending_.pop_front();
    for (auto& bucket : buckets_) {
      if (!step.refused) bucket.AddOut(*step.slot);
    }
  }
}

void Team::Zero() {
  for (const auto& tensor : values_) {
    if (tensor.count() > 0) std::memset(tensor.data, 0, tensor.bytes());
  }
}

/// The quotient by the passes, and clipping.
void Team::FinishValues() {
  const auto& settings = parts_.settings;
  double factor = settings.op == SLIPWAY_MEAN ? 1.0 / settings.accumulate : 1.0;
  if (settings.clip_norm > 0) {
    norm_ = GlobalNorm() * factor;
    if (std::isfinite(norm_) && norm_ > settings.clip_norm) factor *= settings.clip_norm / norm_;
  }
  if (factor == 1) return;
  for (const auto& tensor : values_) Scale(ThreadsOfStaged(), tensor.data, tensor.count(), tensor.dtype, factor);
}

/// All ranks hold the same values: each adds up the squares of its share, and only those sums travel.
double Team::GlobalNorm() {
  double sum = 0;
  for (const auto& bucket : buckets_) {
    ForEachPart(bucket.tensors(), SliceOf(bucket.plan().count, group_->size(), group_->rank()), [&](const Part& part) {
      const char* data = bucket.tensors()[part.piece].data + static_cast<std::size_t>(part.offset) * bucket.element();
      sum += SumOfSquares(data, part.count, bucket.plan().dtype);
    });
  }
  double total = 0;
  for (const double part : AllgatherValues(*control_, sum)) total += part;
  return std::sqrt(total);
}

}  // namespace slipway::runtime
