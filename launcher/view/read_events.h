/// The events of a run: its phases, attempts and datasets over time.
#pragma once

#include "launcher/run_folder/run_folder.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// Reads events.jsonl into `view`, which has its state and its trials: phases, attempts, datasets, and the last 1,000
/// events. A manager that was killed worked until the last sign of its attempt or of its trials. Lines that are no
/// events are counted in a warning. Of a file of more than 64 MiB only the end is read.
void AddEvents(const RunFolder& folder, RunView& view);

}  // namespace slipway::launcher
