/// Commands for an existing run: `status`, `wait` and `cancel`. Each returns the exit code of the program.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"
#include "launcher/cli/commands/session.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// `slipway.status/1` of a run. Errors: Error(kEnvironment) when a document in its folder is damaged.
Json StatusDocument(const RunFolder& run, const RunState& state);

struct StatusOptions {
  std::string run = "last";
};
/// Exits with the run's outcome: 0 live or succeeded, 1 failed or lost, 130 cancelled.
int Status(const StatusOptions& options, Session& session);

struct WaitOptions {
  std::string run = "last";
  std::optional<Seconds> timeout;
};
/// Returns when the run has ended, with its outcome; 75 when the time-out passes first. Errors: Error(kBusy) for a copy
/// of a run that is active.
int Wait(const WaitOptions& options, Session& session);

struct CancelOptions {
  std::string run = "last";
};
/// Asks the run's manager to end everything and waits until it has. A run that has already ended is left alone. Errors:
/// Error(kBusy) for a copy of a run that is active.
int Cancel(const CancelOptions& options, Session& session);
/// Sends the same request and does not wait for the end. False for a run that has already ended.
bool AskToCancel(const RunFolder& run);

}  // namespace slipway::launcher
