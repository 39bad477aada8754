/// A run's place in a tier for its checkpoints and results, and the thread that copies them to the run folder while
/// the program goes on.
///
/// outbox.json in the run folder names the place before it exists. Whatever ends the manager, the next one, or
/// `slipway stage out`, finds it there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/plan/plan.h"
#include "launcher/run/results/stage_out_record.h"

namespace slipway::launcher {

class StageOutQueue {
 public:
  /// The place that an earlier manager of the run has left, else a new one in the plan's tier; null when the run writes
  /// straight into its folder. Errors: Error(kEnvironment) when the tier cannot be used.
  static std::unique_ptr<StageOutQueue> Open(const RunFolder& folder, const Plan& plan, EventLoop& loop,
                                             Output& output);

  /// What lies in the place of `record` is copied out from now on.
  StageOutQueue(const RunFolder& folder, StageOutRecord record, EventLoop& loop, Output& output);
  StageOutQueue(const StageOutQueue&) = delete;
  StageOutQueue& operator=(const StageOutQueue&) = delete;
  /// Ends a copy that is under way; what is not copied out stays in the tier.
  ~StageOutQueue();

  /// The place of the run or trial in `run`; what is in it is copied out from now on.
  staging::OutPlace Watch(const std::filesystem::path& run);
  /// The trial in `run` has ended: when all is copied out, its place is removed. A later Watch takes that back.
  void Close(const std::filesystem::path& run);

  /// The ranks have ended: copies out what is left and removes the place; serves the loop meanwhile. A further wish to
  /// interrupt leaves the rest in the tier.
  /// Returns why something is left there, and what to do, in one line; empty when nothing is.
  std::string Finish(const Interrupt& interrupt);

 private:
  class Mover;

  std::string Incomplete(const std::string& reason) const;

  const RunFolder& folder_;
  StageOutRecord record_;
  EventLoop& loop_;
  Output& output_;
  std::unique_ptr<Mover> mover_;
};

/// Where an attempt of the run or trial in `run` works and writes: checkpoints and outputs in a tier when there is a
/// queue, else in that folder.
AttemptPlace PlaceOfAttempt(std::filesystem::path run, int attempt, StageOutQueue* queue);

/// The newest valid checkpoint of an attempt's place and of its folder. Cost: reads it whole.
std::optional<CheckpointInfo> NewestCheckpointOf(const AttemptPlace& place);
/// What is published there beyond that step and is damaged, in a sentence each.
std::vector<std::string> DamagedCheckpoints(const AttemptPlace& place, std::optional<std::uint64_t> newest);

}  // namespace slipway::launcher
