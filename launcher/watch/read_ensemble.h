/// What the screen shows of an ensemble beside its view.
#pragma once

#include "launcher/run_folder/run_folder.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

/// Counts, running trials, leaders and the best value over time, all from `data.run`; from the book the reports of
/// running trials and those of the trial that is looked at. A book that cannot be read leaves these two empty.
/// Cost: the reports of at most 64 running trials.
void ReadEnsemble(const RunFolder& folder, const Interest& interest, WatchData& data);

/// Pure part of it.
void Summarize(WatchData& data);

}  // namespace slipway::launcher::watch
