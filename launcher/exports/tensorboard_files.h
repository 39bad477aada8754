/// The event files of a run for TensorBoard, as an export and live have them.
///
/// A folder for each trial or attempt: `trial-00007`, `attempt-2`. A trial has a file for each of its attempts.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/exports/run_metrics.h"
#include "staging/formats/tensorboard.h"

namespace slipway::launcher {

/// "events.out.tfevents.0000000002.slipway": of attempt 2. The file of attempt 0 has the columns of the HPARAMS tab.
std::string EventFileOf(int attempt);
/// Of EventFileOf; 0: it is none.
int AttemptOfEventFile(const std::string& name);

/// Numbers, truth values and texts; others as JSON text.
staging::HyperParameters HyperParametersOf(const Json& parameters);

/// By the word of a trial's or run's state.
staging::SessionStatus StatusOf(const std::string& state);

/// Writes the event files of all sessions into the empty folder `into`. Cost: one pass over the metrics.
void WriteTensorboard(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& into);

}  // namespace slipway::launcher
