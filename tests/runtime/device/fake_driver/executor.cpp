#include "tests/runtime/device/fake_driver/executor.h"

#include <set>
#include <thread>
#include <utility>

namespace slipway::fake_gpu {
namespace {

using std::chrono::steady_clock;

/// How long a host function waits for a host call to drive it and the work before it, in virtual time; then how long
/// each of these operations waits.
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr auto kAdvance = std::chrono::microseconds(100);
/// Between two looks at other processes.
constexpr auto kLookElsewhere = std::chrono::microseconds(50);

thread_local OperationPtr running_here;

bool AllDone(const Operations& operations) {
  return std::all_of(operations.begin(), operations.end(), [](const auto& operation) { return operation->done(); });
}

/// The operations that are not done and that `wanted` needs, themselves included.
std::set<const Operation*> NeededBy(const Operations& wanted) {
  std::set<const Operation*> needed;
  Operations open = wanted;
  while (!open.empty()) {
    const auto operation = open.back();
    open.pop_back();
    if (operation->done() || !needed.insert(operation.get()).second) continue;
    open.insert(open.end(), operation->after.begin(), operation->after.end());
  }
  return needed;
}

bool Paced(const Operation& operation) {
  return operation.engine == Engine::kToHost || operation.engine == Engine::kToDevice;
}

}  // namespace

const OperationPtr& RunningHere() { return running_here; }

void Executor::SetOrder(Lock& lock, fake_gpu_order order, std::uint64_t seed) {
  WaitForAll(lock);
  is_virtual_ = true;
  order_ = order;
  random_.seed(seed);
  constexpr double kAtOnce[] = {0, 0.3, 0.9};
  constexpr double kMore[] = {0, 0.5, 0.9};
  run_at_once_ = order == FAKE_GPU_RANDOM ? kAtOnce[random_() % 3] : 0;
  run_more_ = order == FAKE_GPU_RANDOM ? kMore[random_() % 3] : 0;
}

void Executor::UseThreads(Lock& lock, double bytes_per_s) {
  WaitForAll(lock);
  is_virtual_ = false;
  bytes_per_s_ = bytes_per_s;
  StartThreads();
}

bool Executor::Chance(double probability) {
  return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

void Executor::Queue(Lock& lock, const OperationPtr& operation) {
  if (lost_ != kSuccess) {
    operation->state = Operation::State::kDone;
    operation->after.clear();
    return;
  }
  operation->queued = steady_clock::now();
  pending_.push_back(operation);
  log_.Add(operation);
  if (operation->engine == Engine::kHostFunction) StartThreads();
  if (operation->shared && !std::exchange(elsewhere_started_, true)) {
    std::thread([this] { ElsewhereLoop(); }).detach();
  }
  if (is_virtual_) {
    watch_.Queue(*operation, pending_);
    RunWhatIsReady(lock);
  } else {
    SettleMarkers();
  }
  changed_.notify_all();
}

void Executor::RunWhatIsReady(Lock& lock) {
  while (order_ == FAKE_GPU_EAGER || Chance(run_at_once_)) {
    const auto operation = Choose({}, Needed::kAny);
    if (!operation) return;
    Run(lock, operation);
  }
}

OperationPtr Executor::Choose(const Operations& wanted, Needed needed) {
  const auto wants = needed == Needed::kOnly ? NeededBy(wanted) : std::set<const Operation*>();
  Operations candidates;
  for (const auto& operation : pending_) {
    const bool counts = needed == Needed::kAny || wants.count(operation.get()) > 0;
    if (counts && operation->ready() && operation->engine != Engine::kHostFunction) candidates.push_back(operation);
  }
  if (candidates.empty()) return nullptr;
  return order_ == FAKE_GPU_RANDOM ? candidates[random_() % candidates.size()] : candidates.front();
}

void Executor::Want(const Operations& wanted) {
  const auto needed = NeededBy(wanted);
  for (const auto& operation : pending_) {
    if (needed.count(operation.get()) == 0) continue;
    operation->wanted = true;
    if (operation->waits_elsewhere) operation->shared->Want(operation->record);
  }
  changed_.notify_all();
}

void Executor::Wait(Lock& lock, const Operations& operations) {
  if (AllDone(operations)) return;
  ledger_.Count(FAKE_GPU_HOST_WAITS);
  Want(operations);
  while (!AllDone(operations)) {
    OperationPtr next;
    if (is_virtual_) next = Choose(operations, Chance(run_more_) ? Needed::kAny : Needed::kOnly);
    if (next) {
      Run(lock, next);
    } else {
      changed_.wait(lock);
    }
  }
}

void Executor::WaitForAll(Lock& lock) { Wait(lock, pending_); }

void Executor::Poll(Lock& lock, const OperationPtr& operation) {
  if (!is_virtual_ || operation->done()) return;
  Want({operation});
  if (!Chance(0.5)) return;
  if (const auto next = Choose({operation}, Chance(run_more_) ? Needed::kAny : Needed::kOnly)) Run(lock, next);
}

bool Executor::Step(Lock& lock) {
  const auto next = Choose({}, Needed::kAny);
  if (next) Run(lock, next);
  return next != nullptr;
}

void Executor::Run(Lock& lock, const OperationPtr& operation) {
  if (operation->engine != Engine::kMarker) {
    if (const auto code = ledger_.StartOperation(); code != kSuccess) return Lose(code);
  }
  operation->state = Operation::State::kRunning;
  if (is_virtual_) watch_.Check(*operation);
  operation->finished = StartOf(*operation);
  if (operation->work) {
    lock.unlock();
    running_here = operation;
    operation->work();
    operation->finished = Pace(*operation, operation->finished);
    running_here = nullptr;
    lock.lock();
  }
  busy_until_[operation->engine] = operation->finished;
  Finish(operation);
}

void Executor::Finish(const OperationPtr& operation) {
  operation->state = Operation::State::kDone;
  operation->after.clear();
  operation->work = nullptr;
  if (operation->shared && !operation->waits_elsewhere) operation->shared->Reach(operation->record);
  std::erase(pending_, operation);
  ledger_.Trace(operation->name);
  ledger_.Count(FAKE_GPU_OPERATIONS);
  const auto kind = operation->engine;
  if (kind == Engine::kToHost) ledger_.Count(FAKE_GPU_BYTES_TO_HOST, operation->bytes);
  if (kind == Engine::kToDevice) ledger_.Count(FAKE_GPU_BYTES_TO_DEVICE, operation->bytes);
  if (kind == Engine::kCompute) ledger_.Count(FAKE_GPU_BYTES_ON_DEVICE, operation->bytes);
  if (kind == Engine::kHostFunction) HostKnows(*operation);
  if (is_virtual_) {
    watch_.Review(pending_);
  } else if (kind != Engine::kMarker) {
    SettleMarkers();
  }
  changed_.notify_all();
}

/// Markers that are ready, those that this makes ready included.
void Executor::SettleMarkers() {
  for (std::size_t at = 0; at < pending_.size();) {
    const auto operation = pending_[at];
    if (operation->engine == Engine::kMarker && operation->ready()) {
      operation->finished = StartOf(*operation);
      Finish(operation);
      at = 0;
    } else {
      ++at;
    }
  }
}

void Executor::HostKnows(const Operation& operation) {
  if (operation.epoch != epoch_) return;
  known_.Join(operation.clock);
  log_.Prune(known_, pending_);
  if (!pending_.empty() || !log_.empty()) return;
  known_ = Clock();
  ++epoch_;
}

void Executor::Lose(Code code) {
  if (lost_ == kSuccess) lost_ = code;
  std::erase_if(pending_, [](const OperationPtr& operation) {
    if (operation->state != Operation::State::kQueued) return false;
    operation->state = Operation::State::kDone;
    operation->after.clear();
    operation->work = nullptr;
    return true;
  });
  changed_.notify_all();
}

void Executor::Restore() {
  lost_ = kSuccess;
  known_ = Clock();
  log_.Clear();
}

/// In the model: when the work before it was done and, of a copy, the copies before it on the same engine.
Time Executor::StartOf(const Operation& operation) const {
  if (is_virtual_) return steady_clock::now();
  auto start = operation.queued;
  for (const auto& earlier : operation.after) start = std::max(start, earlier->finished);
  const auto busy = busy_until_.find(operation.engine);
  return Paced(operation) && busy != busy_until_.end() ? std::max(start, busy->second) : start;
}

Time Executor::Pace(const Operation& operation, Time start) const {
  if (is_virtual_ || !Paced(operation) || bytes_per_s_ <= 0) return steady_clock::now();
  const std::chrono::duration<double> cost(static_cast<double>(operation.bytes) / bytes_per_s_);
  const auto end = start + std::chrono::duration_cast<steady_clock::duration>(cost);
  std::this_thread::sleep_until(end);
  return end;
}

void Executor::StartThreads() {
  if (!host_thread_started_) std::thread([this] { HostFunctionLoop(); }).detach();
  host_thread_started_ = true;
  if (is_virtual_ || engines_started_) return;
  for (const auto engine : {Engine::kToHost, Engine::kToDevice, Engine::kCompute, Engine::kCompute}) {
    std::thread([this, engine] { EngineLoop(engine); }).detach();
  }
  engines_started_ = true;
}

OperationPtr Executor::NextOf(Engine engine) const {
  for (const auto& operation : pending_) {
    if (operation->engine == engine && operation->ready()) return operation;
  }
  return nullptr;
}

void Executor::EngineLoop(Engine engine) {
  Lock lock(mutex_);
  for (;;) {
    const auto next = is_virtual_ ? nullptr : NextOf(engine);
    if (next) {
      Run(lock, next);
    } else {
      changed_.wait(lock);
    }
  }
}

/// In virtual time a host function runs when a host call waits for it, or at once in eager order.
OperationPtr Executor::NextHostFunction() const {
  for (const auto& operation : pending_) {
    if (operation->engine != Engine::kHostFunction || !operation->ready()) continue;
    if (!is_virtual_ || order_ == FAKE_GPU_EAGER || operation->wanted) return operation;
  }
  return nullptr;
}

void Executor::HostFunctionLoop() {
  Lock lock(mutex_);
  for (;;) {
    if (const auto next = NextHostFunction()) {
      Run(lock, next);
      if (is_virtual_ && order_ == FAKE_GPU_EAGER) RunWhatIsReady(lock);
      continue;
    }
    const auto first = std::find_if(pending_.begin(), pending_.end(),
                                    [](const auto& operation) { return operation->engine == Engine::kHostFunction; });
    if (first == pending_.end() || !is_virtual_) {
      changed_.wait(lock);
      continue;
    }
    const auto due = std::max((*first)->queued + patience_, last_advance_ + kAdvance);
    if (steady_clock::now() >= due) {
      AdvanceTowards(lock, *first);
    } else {
      changed_.wait_until(lock, due);
    }
  }
}

/// Other processes wait without a call of this one, and what they have done shows in no call either.
void Executor::ElsewhereLoop() {
  Lock lock(mutex_);
  for (;;) {
    if (std::none_of(pending_.begin(), pending_.end(), [](const auto& operation) { return operation->shared; })) {
      changed_.wait(lock);
      continue;
    }
    if (is_virtual_) {
      AdvanceForOthers(lock);
    } else {
      SettleMarkers();
    }
    changed_.notify_all();
    changed_.wait_for(lock, kLookElsewhere);
  }
}

/// In virtual time: what a process waits for, and no more, unless work runs as soon as it can.
void Executor::AdvanceForOthers(Lock& lock) {
  if (order_ == FAKE_GPU_EAGER) RunWhatIsReady(lock);
  const auto asked = std::find_if(pending_.begin(), pending_.end(), [](const auto& operation) {
    return operation->shared && !operation->waits_elsewhere && operation->shared->Wanted(operation->record);
  });
  if (asked == pending_.end()) return;
  const Operations record{*asked};
  Want(record);
  while (const auto next = Choose(record, Needed::kOnly)) Run(lock, next);
}

/// The device goes on by itself: the host may wait for a host function without a call.
void Executor::AdvanceTowards(Lock& lock, OperationPtr host_function) {
  last_advance_ = steady_clock::now();
  if (const auto next = host_function->ready() ? host_function : Choose({host_function}, Needed::kOnly))
    Run(lock, next);
}

}  // namespace slipway::fake_gpu
