/// The events of a run: its phases, attempts and datasets over time.
#pragma once

#include "launcher/run_folder/run_folder.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// Reads events.jsonl into `view`: phases, attempts, datasets, and the last 1,000 events. Lines that are no events are
/// counted in a warning. Of a file of more than 64 MiB only the end is read.
void AddEvents(const RunFolder& folder, RunView& view);

}  // namespace slipway::launcher
