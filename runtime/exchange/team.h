/// A team: a named set of tensors, exchanged together step by step, with its own messages, queue and thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/exchange/bucket_exchange.h"
#include "runtime/exchange/device_images.h"
#include "runtime/exchange/exchange_turn.h"
#include "runtime/exchange/gpu_ways.h"
#include "runtime/exchange/settings.h"
#include "runtime/exchange/step_sums.h"
#include "runtime/group/group.h"
#include "runtime/trace/step_trace.h"
#include "runtime/watch/watch.h"

namespace slipway::runtime {

/// Whether a thread of the team's own may use MPI.
enum class Progress { kThread, kCaller };

/// What a team is made of.
struct TeamParts {
  std::string name;
  std::vector<TensorInfo> tensors;  ///< the same list on every rank (RequireSameCall), all on one device or on none
  std::int64_t total_steps = 0;
  TeamSettings settings;
  std::unique_ptr<StepSums> sums = nullptr;  ///< null: none are written
};

class Team {
  using StepClock = StepTrace::Clock;

 public:
  /// `group`: for this team alone. Collective. Errors: RuntimeError(ARGUMENT), and those of the group.
  Team(TeamParts parts, std::unique_ptr<Group> group, Progress progress, Watch& watch, const TraceSettings& trace);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  /// Waits for the bucket that is being exchanged; drops the rest.
  ~Team();

  /// Errors: RuntimeError(STATE) when steps were made, begun or loaded.
  void RequireUnused() const;
  /// Of a team that is unused on every rank. Collective.
  void Configure(const TeamSettings& settings);
  const TeamSettings& settings() const { return parts_.settings; }

  /// These tensors may be exchanged: on a GPU, as soon as `stream` has done what it was given so far. Any thread.
  /// Cost:   on a GPU a few calls to the driver, however many tensors there are. Of managed memory, it waits for
  ///         `stream`.
  /// Errors: RuntimeError: ARGUMENT; STATE when one was submitted already, or `stream` is captured; none is then.
  /// PartedError(DEVICE).
  void Submit(std::span<const int> indices, StreamHandle stream = nullptr);
  /// Copies `data` into tensor `index`, which lies in CPU memory, and submits it. Of managed data, waits for the legacy
  /// default stream. Any thread. Errors: those of Submit(); DEVICE_MEMORY when `data` lies in the memory of a GPU.
  void SubmitFrom(int index, const void* data);
  /// The values of tensor `index`, which lies in CPU memory, are at `data` in this step, and the result is to be
  /// written there. Any thread. Waits, errors: those of SubmitFrom().
  void SubmitAt(int index, void* data);
  /// Submits what was not and completes the step. On a GPU, later work of `stream` finds the result; the calling thread
  /// does not wait for the last copies or sums. Collective. Errors: NOT_FINITE: the step's gradients are dropped;
  /// STATE: `stream` is captured, and nothing was done; those of the group, PartedError(DEVICE): the team cannot be
  /// used again.
  void Wait(StreamHandle stream = nullptr);

  std::int64_t pending() const { return static_cast<std::int64_t>(pending_.size()); }  ///< steps on their way
  std::int64_t step() const { return step_; }  ///< exchanges begun; for the program's thread
  bool delivered() const { return delivered_; }
  double norm() const { return norm_; }
  /// True between the first Submit() of a step and its Wait(), unless an exchange has failed.
  bool InFlight() const;
  /// Returns when the CPU finds the result of the last Wait(), too, not only later work of its stream.
  /// Errors: PartedError(DEVICE, STALLED).
  void AwaitResult();
  /// Waits for the exchanges of delayed gradients, and for GPUs; after a failure there are none. Collective.
  void Drain();

  /// Step count and delayed gradients, after Drain(). The same bits on every rank.
  std::vector<char> SaveState();
  void LoadState(std::span<const char> state);

  StepTrace& trace() { return trace_; }
  /// For comm.json: `way`, how its tensors are exchanged: "cpu"; of a GPU "staged", "direct", "nccl", "nccl_in_nodes",
  /// "mpi", or "none" for a lone rank; and how that was chosen.
  Json GpuFacts() const;
  /// Whether MPI is given its tensors in the memory of GPUs.
  bool GoesByGpuMpi() const { return combined_ != nullptr && combined_->way() == CombineWay::kMpi; }
  /// Whether other ranks have its tensors mapped.
  bool MapsMemory() const { return combined_ != nullptr && combined_->MapsMemory(); }
  /// Whether its sums have the bits that comm.json names.
  bool HasBitsOfCpu() const { return combined_ == nullptr || combined_->HasBitsOfCpu(); }
  /// After Drain(), before a barrier: ends the use of the other ranks' memory. The team cannot be used again.
  void CloseDevices();

 private:
  /// Where one step's gradients are on their way.
  struct Step {
    std::int64_t number = 0;
    std::optional<int> slot;  ///< delayed; else the tensors themselves
    std::size_t done = 0;     ///< buckets exchanged
    bool refused = false;     ///< not finite: never delivered
  };

  /// Synchronous steps at both ends of a delayed exchange.
  struct Schedule {
    std::int64_t sync_first = 0;
    std::int64_t sync_last = 0;
  };

  Schedule ScheduleOf(const TeamSettings& settings) const;
  void Build();
  bool Delayed(std::int64_t step) const;
  bool Exchanges() const { return (pass_ + 1) % parts_.settings.accumulate == 0; }
  void StartStep();
  void EndPass(bool exchanged);
  void TraceStep(StepTrace::Clock::time_point wait_start);
  void RequireOpen(std::span<const int> indices) const;
  void RequireOpen(int index) const;
  std::vector<int> NotSubmitted() const;
  void RequireInCpuMemory(int index, const void* data) const;
  Waiter ProgramsWaiter() const;
  void AwaitProgram(StreamHandle stream) const;
  void AwaitGiven(const void* data) const;
  void Place(int index, void* data);
  void LetTensorsMove();
  void LetThreadsCombine();
  void Take(std::span<const int> indices, StreamHandle stream);
  void TakePlaced(std::span<const int> indices, StreamHandle stream);
  void Count(int value);
  bool HasWork() const;
  void WakeThread();
  bool Fetching() const { return device_ != nullptr && device_->Fetching(); }
  bool Polling() const { return Fetching() || trace_.AwaitsGpu(); }
  void FetchFromDevice(std::span<const int> tensors, StreamHandle stream);
  void OnDevice(const std::function<void()>& action);
  void CountArrived();
  void CombineOnDevice(std::size_t bucket, std::int64_t step);
  void StoreOnDevice(std::span<const int> values, std::int64_t step);
  void TraceEndOfGpuWork();
  void AwaitArrival(std::unique_lock<std::mutex>& lock, Waiter::Manner manner, int looks);
  void AwaitLateArrival(std::size_t before);
  void AwaitArrivals(std::unique_lock<std::mutex>& lock);
  std::int64_t BucketBytes() const;
  std::int64_t CombinedBucketBytes() const;
  std::optional<CpuWork> WhyNotPlain() const;
  bool MayDivide() const;
  bool SplitsTensors() const;
  std::vector<BucketPlan> Plans() const;
  void FindValues();
  void MakeDeviceTensors(const DevicePlace& place);
  std::string_view Way() const;
  bool IsStaged() const { return device_ != nullptr && combined_ == nullptr; }
  CombineThreads* ThreadsOfStaged() const;
  bool StoresAtOnce() const;
  void Return(bool stored, StreamHandle stream);
  void ExchangeNext(std::unique_lock<std::mutex>& lock, Waiter::Manner manner);
  void TakeOver(std::unique_lock<std::mutex>& lock, std::int64_t last_step);
  void AwaitThread(std::unique_lock<std::mutex>& lock);
  void Run();
  void StopThread();

  bool FitsTheWire(const TensorInfo& tensor) const;
  void CheckFinite(int index);
  void RequireFinite();
  std::exception_ptr RefusalOfStep();
  void Deliver();
  void DeliverDelayed();
  void AddPending();
  void FinishValues();
  double GlobalNorm();
  void Zero();
  std::int64_t SlotBytes();

  TeamParts parts_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Communicator> control_;  ///< for what the program's thread agrees on while buckets are on their way
  Watch& watch_;
  Progress progress_;
  std::uint32_t table_number_;
  std::vector<DevicePlace> places_;        ///< where the tensors lie: the device, or all of managed memory
  std::unique_ptr<DeviceTensors> device_;  ///< null: the tensors lie in CPU memory
  std::optional<StreamJoin> untouched_;    ///< of a device: where tensors were made that are not exchanged in this pass
  std::optional<StepTrace::Clock::time_point> first_copy_;  ///< of those that are under way
  CombinedTensors* combined_ = nullptr;                     ///< the same, when the GPUs combine; null: the CPU does
  GpuWay way_;                                              ///< how that was chosen; its tensors are in `device_`
  std::vector<BucketPlan> dealt_;                           ///< of images, some in parts; empty: PlanBuckets() plans
  std::vector<TensorInfo> values_;                          ///< what is exchanged: the tensors, or their images
  std::vector<int> bucket_of_;                              ///< by value; -1: empty
  std::unique_ptr<PieceBoard> board_;                       ///< for tensors that are submitted elsewhere
  std::vector<BucketExchange> buckets_;
  std::size_t bytes_ = 0;  ///< of the tensors
  bool streams_ = false;   ///< the tensors are more than the core's cache holds
  int slots_ = 0;
  Schedule schedule_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t pass_ = 0;  ///< calls of Wait()
  std::int64_t step_ = 0;  ///< exchanges begun
  std::vector<char> submitted_;
  int submitted_count_ = 0;
  std::vector<int> waiting_;     ///< by bucket: tensors of this step not submitted yet
  std::size_t ready_ = 0;        ///< buckets of this step, from the first, whose tensors are all here
  std::optional<Step> current_;  ///< the one that is being submitted; it has its place in the queue
  std::size_t first_bad_ = 0;    ///< the first value of it that is not finite
  std::deque<Step> queue_;       ///< steps not exchanged completely, oldest first; the last may be the current one
  std::deque<Step> pending_;     ///< delayed steps not delivered, oldest first
  ExchangeTurn turn_ = ExchangeTurn::kFree;
  bool stop_ = false;  ///< the team's thread is to end
  std::exception_ptr failure_;
  bool delivered_ = false;
  double norm_ = 0;
  StepTrace trace_;
  std::thread thread_;
};

}  // namespace slipway::runtime
