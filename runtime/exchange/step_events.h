/// How the GPUs of a node wait for each other in the steps of a team, and in single allreduces.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/exchange/shared_events.h"
#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// The ranks' CPUs meet, and wait for no GPU: a GPU waits for the others by events.
///
///   Made()          this rank's values of a bucket, at any time of a step.
///   Meet            All ranks have recorded that event.
///   AwaitValues()   By the stream of the sums.
///   Summed()        After the last bucket of the step.
///   Meet            All ranks have recorded that event.
///   Release()       Before the next step: then a rank may record its event of the sums again.
///
/// A wait is given to a GPU only after its record was, so that none waits for ever, in whatever order teams go.
///
/// Made() may run beside AwaitValues() of another bucket. The thread's device is that of the place.
/// Errors: DeviceError.
class StepEvents {
 public:
  /// Null on all ranks where they cannot share events. Collective.
  static std::unique_ptr<StepEvents> Make(const DevicePlace& place, std::size_t buckets, Communicator& ranks);

  /// Values of this bucket are there when `stream` has done what it was given so far.
  void Made(std::size_t bucket, StreamHandle stream);
  void AwaitValues(std::size_t bucket, StreamHandle sums);
  void Summed(StreamHandle sums);
  /// Later work of `stream` finds the sums of all ranks.
  void Release(StreamHandle stream);
  /// Whether this rank's GPU has not made its sums of the last step yet.
  bool Summing() const { return !events_->Own(sums()).Reached(); }
  /// Returns when the sums of the last step are there, and no stream of this rank waits for them any more. `waiter`:
  /// of the calling thread. Errors: also RuntimeError(STALLED) when a rank is dead, or its GPU does not get on after
  /// this rank's has got to the sums.
  void Await(Waiter& waiter);

 private:
  /// A stream that waits for sums.
  struct Released {
    StreamOfThread stream;
    DeviceEvent waited;
  };
  /// Who makes the values of a bucket, in this step.
  struct Maker {
    std::optional<StreamOfThread> stream;
    bool several = false;
  };
  StepEvents(const DevicePlace& place, std::size_t buckets, std::unique_ptr<SharedEvents> events,
             const Communicator& ranks);
  std::size_t sums() const { return makers_.size(); }  ///< the event behind those of the buckets
  bool HasValuesOf(std::size_t rank) const;
  std::vector<int> Missing(std::size_t rank) const;
  DeviceEvent& PointOf(const StreamOfThread& stream);

  DevicePlace place_;
  std::vector<int> job_ranks_;  ///< by rank
  std::unique_ptr<SharedEvents> events_;
  std::vector<Maker> makers_;       ///< by bucket
  std::vector<Released> released_;  ///< by stream, of those that may still wait
  bool is_released_ = true;         ///< since Summed()
  DeviceEvent point_;
  DeviceStream join_;  ///< waits for several streams
};

}  // namespace slipway::runtime
