/// Waits for or stops the manager of a run from another process.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Reads the states of a run, one after the other, until its end.
class StateReader {
 public:
  explicit StateReader(const RunFolder& run) : run_(run) {}

  /// As RunFolder::ReadState. A manager on another host is lost once its lock is free after it was seen to be held:
  /// some file systems keep locks to one host. Cost: for a manager on another host it also opens the lock file.
  RunState Read();

 private:
  bool IsGone(const RunState& state);

  const RunFolder& run_;
  bool was_held_ = false;
};

/// Returns the state when the run has ended, as StateReader has it; nothing when `limit` passes first.
/// Cost: sleeps in the kernel while the manager runs on this host; checks every second when it is elsewhere.
/// Errors: Error(kBusy) when `run` is a copy whose original is active.
std::optional<RunState> WaitForEnd(const RunFolder& run, std::optional<Seconds> limit);

/// Sends a signal to the manager in a state that RunFolder::ReadState returned, if it still runs. Errors:
/// Error(kEnvironment) when it lives on another host; Error(kBusy) when the state is that of a copy, and the manager is
/// that of its original.
void SignalManager(const RunState& state, int signal);
/// The same with SIGTERM.
void AskToStop(const RunState& state);

}  // namespace slipway::launcher
