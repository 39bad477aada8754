/// The rows of the pages that are lists: how they are sorted, filtered and named.
#pragma once

#include <string>
#include <vector>

#include "launcher/watch/model.h"

namespace slipway::launcher::watch {

/// The columns that the page can be sorted by; empty: its order is fixed, or it is no list.
const std::vector<std::string>& SortsOf(Page page);
bool IsList(Page page);
/// What names a row through all changes: a trial's number, a run's id. Empty when there is no such row.
std::string KeyOf(const WatchData& data, Page page, std::size_t row);
/// The rows to show. A filter's words must all be found in a row, without regard to case: in its state, number, place
/// or reason, or as `name=value` at the begin of a parameter.
std::vector<std::size_t> OrderOf(const WatchData& data, Page page, const ListState& list);
/// In seconds; of a trial under way until `now`, or until the run ended. Nothing: it has not begun, or its end is not
/// known. The run has trials.
std::optional<double> DurationOfTrial(const RunView& run, std::size_t row, double now);
/// "lr=0.001 opt=adam"
std::string ParametersOf(const TrialColumns& trials, std::size_t row);
/// Begun, and not ended.
bool IsUnderWay(std::string_view trial_state);

}  // namespace slipway::launcher::watch
