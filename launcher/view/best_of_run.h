/// The value by which lists of runs order a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launcher/run_folder/run_folder.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// Of an ensemble its best trial, with repeats the mean of its best configuration; of a single run the last value of
/// its metric. Nothing: there is none yet, or an ensemble has another objective than `metric`, which may be empty.
/// Cost: of an ensemble its trial book; of a single run none.
std::optional<BestValue> BestOf(const RunFolder& folder, const RunState& state, const std::string& metric);

/// Of the last values of a single run: that of `metric`. With an empty name: `loss`, or the only one.
std::optional<BestValue> BestOfMetrics(const std::map<std::string, double>& metrics, const std::string& metric);

/// What a single run reported last.
struct LastReport {
  std::optional<std::int64_t> step;       ///< nothing: the lines say none
  std::map<std::string, double> metrics;  ///< by name; may be NaN or infinite
};

/// The last lines of the attempt's metrics file together. Nothing: no line is there that can be read.
/// Cost: the last 64 KiB of one file, of which at most 20 lines are parsed.
std::optional<LastReport> LastReportOf(const RunFolder& folder, int attempt);

}  // namespace slipway::launcher
