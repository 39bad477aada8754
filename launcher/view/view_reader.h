/// Reads the view of a run from its folder, again and again while the run goes on.
#pragma once

#include <memory>

#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// How much is read. Later ones include earlier ones.
enum class Depth {
  kStates,      ///< the state, events, and what each trial has come to, without its parameters
  kGlance,      ///< the whole trials: a few files
  kAccounting,  ///< where the time went: checkpoints and times of steps too
  kCurves,      ///< the curves of a single run too
  kAnalysis,    ///< everything: curves of all trials, importance, failures with their logs
};

/// What the state alone says.
RunView ViewOf(const RunFolder& folder, const RunState& state);

/// Metrics files are read once: a second Read continues where the first one ended. Files that are missing, damaged or
/// of another version leave a warning in the view.
class ViewReader {
 public:
  /// `on_read` hears of each piece of metrics files that was read.
  explicit ViewReader(RunFolder folder, BytesRead on_read = {});
  ViewReader(ViewReader&&) noexcept;
  ~ViewReader();

  /// Errors: those of RunFolder::ReadState.
  RunView Read(Depth depth);
  /// The same for a state that was read before, and may be corrected by the batch system.
  RunView Read(Depth depth, const RunState& state);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace slipway::launcher
