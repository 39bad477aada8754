/// A run's place in a tier for checkpoints and results, and a thread that copies them to the run folder meanwhile.
///
/// outbox.json in the run folder names the place before it exists. So after any end of the manager, the next one or
/// `slipway stage out` finds it.
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
  /// Opens the place of an earlier manager of the run, else a new one in the plan's tier. Null when the run writes
  /// directly into its folder. Errors: Error(kEnvironment) when the tier cannot be used.
  static std::unique_ptr<StageOutQueue> Open(const RunFolder& folder, const Plan& plan, EventLoop& loop,
                                             Output& output);

  /// Starts copying out what lies in the place of `record`.
  StageOutQueue(const RunFolder& folder, StageOutRecord record, EventLoop& loop, Output& output);
  StageOutQueue(const StageOutQueue&) = delete;
  StageOutQueue& operator=(const StageOutQueue&) = delete;
  /// Ends a copy in progress; what is not copied out stays in the tier.
  ~StageOutQueue();

  /// The place of the run or trial in `run`. Its content is copied out from now on. Errors: those of
  /// staging::RequireDirectory; SystemError.
  staging::OutPlace Watch(const std::filesystem::path& run);
  /// The trial in `run` has ended: its place is removed once all is copied out. A later Watch reverses this.
  void Close(const std::filesystem::path& run);

  /// Call it after the ranks have ended. Copies out what is left and removes the place; serves the loop meanwhile.
  /// Another interrupt leaves the rest in the tier. Returns why something is left there, and what to do, in one line;
  /// else empty.
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

/// The place of an attempt of the run or trial in `run`: checkpoints and outputs are in a tier when there is a queue,
/// else in that folder.
AttemptPlace PlaceOfAttempt(std::filesystem::path run, int attempt, StageOutQueue* queue);

/// The newest valid checkpoint of an attempt's place and of its folder. Cost: reads it whole.
std::optional<CheckpointInfo> NewestCheckpointOf(const AttemptPlace& place);
/// Before an attempt continues from `newest`, or begins without one: its steps must not be lost to an upgrade. Errors:
/// OtherVersionError that names a newer checkpoint, when another version of Slipway wrote it.
void RequireOwnVersions(const AttemptPlace& place, const std::optional<CheckpointInfo>& newest);
/// A sentence for each damaged checkpoint that was published after step `newest`.
std::vector<std::string> DamagedCheckpoints(const AttemptPlace& place, std::optional<std::uint64_t> newest);

}  // namespace slipway::launcher
