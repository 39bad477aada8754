#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "tests/runtime/device/fake_driver/access_log.h"
#include "tests/runtime/device/fake_driver/host_watch.h"
#include "tests/runtime/device/fake_driver/operation.h"

namespace slipway::fake_gpu {

using Lock = std::unique_lock<std::mutex>;
using Time = std::chrono::steady_clock::time_point;

/// Runs queued operations, each after those in its `after`. Virtual time: inside Wait, Poll, Queue and Step, in an
/// order that the seed chooses. Threads: one for each engine, two for kernels. Host functions have a thread in both,
/// and so has work that other processes wait for, or that waits for them.
///
/// All members need the driver's lock; work itself runs without it.
class Executor {
 public:
  Executor(std::mutex& mutex, Ledger& ledger) : mutex_(mutex), ledger_(ledger), log_(ledger), watch_(ledger) {}

  void SetOrder(Lock& lock, fake_gpu_order order, std::uint64_t seed);
  /// 0: as fast as memory.
  void UseThreads(Lock& lock, double bytes_per_s);
  bool is_virtual() const { return is_virtual_; }
  /// How long a host function waits for a host call to drive it and the work before it, in virtual time.
  void SetPatience(std::chrono::milliseconds patience) { patience_ = patience; }

  void Queue(Lock& lock, const OperationPtr& operation);
  /// Returns when all are done; counts a wait of the host where they were not.
  void Wait(Lock& lock, const Operations& operations);
  void WaitForAll(Lock& lock);
  /// A question of the host: a little may run.
  void Poll(Lock& lock, const OperationPtr& operation);
  bool Step(Lock& lock);

  /// The host knows the end of the operation and of what precedes it.
  void HostKnows(const Operation& operation);
  const Clock& known() const { return known_; }
  /// Changes when the host knows the end of all work. Nothing of an earlier epoch needs an order; clocks start again,
  /// so that they do not grow with the streams of a whole program.
  std::uint64_t epoch() const { return epoch_; }
  const Operations& pending() const { return pending_; }
  AccessLog& log() { return log_; }

  /// From now on nothing runs. Queued operations end without their work.
  void Lose(Code code);
  Code lost() const { return lost_; }
  /// After a loss, and with no work left: as new.
  void Restore();

 private:
  enum class Needed { kOnly, kAny };

  void Run(Lock& lock, const OperationPtr& operation);
  void Finish(const OperationPtr& operation);
  void SettleMarkers();
  void RunWhatIsReady(Lock& lock);
  /// A ready operation that is no host function: one that `wanted` needs, or any; null: none.
  OperationPtr Choose(const Operations& wanted, Needed needed);
  void Want(const Operations& wanted);
  bool Chance(double probability);

  void StartThreads();
  void EngineLoop(Engine engine);
  void HostFunctionLoop();
  void ElsewhereLoop();
  void AdvanceForOthers(Lock& lock);
  OperationPtr NextHostFunction() const;
  void AdvanceTowards(Lock& lock, OperationPtr host_function);
  OperationPtr NextOf(Engine engine) const;
  /// Sleeps until a copy ends at the modelled speed. Returns that end; of other work, the time now.
  Time Pace(const Operation& operation, Time start) const;
  Time StartOf(const Operation& operation) const;

  std::mutex& mutex_;
  Ledger& ledger_;
  AccessLog log_;
  HostWatch watch_;
  std::condition_variable changed_;
  Operations pending_;  // in the order of the calls
  Clock known_;
  std::uint64_t epoch_ = 1;
  Code lost_ = kSuccess;

  bool is_virtual_ = true;
  fake_gpu_order order_ = FAKE_GPU_LAZY;
  std::mt19937_64 random_;
  double run_at_once_ = 0;  // chances, in random order
  double run_more_ = 0;
  double bytes_per_s_ = 0;
  std::map<Engine, Time> busy_until_;
  Time last_advance_;
  std::chrono::milliseconds patience_{};
  bool host_thread_started_ = false;
  bool engines_started_ = false;
  bool elsewhere_started_ = false;
};

/// The operation that this thread runs, or null.
const OperationPtr& RunningHere();

}  // namespace slipway::fake_gpu
