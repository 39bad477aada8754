/// One line of metrics.jsonl: {"time":..., "step":..., "epoch":...|null, "metrics":{name: number | "NaN" | "Infinity" |
/// "-Infinity"}}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace slipway {

struct MetricsLine {
  std::int64_t step = 0;
  std::optional<double> epoch;
  std::map<std::string, double> values;
  std::optional<double> time = {};  ///< as the line says; seconds since 1970
  bool has_step = true;             ///< the program said it; else who reads the lines counts them
};

/// Nothing for a line that is not of this form (a torn one, or foreign text). Values of other kinds are left out. NaN
/// and the infinities may also stand without quotes, as Python's json.dumps writes them: a trial that diverges says so.
std::optional<MetricsLine> ParseMetricsLine(std::string_view line);

/// The line as JSON, with its numbers as they are written, and NaN and the infinities as texts. Discarded when it is no
/// JSON.
Json JsonOfMetricsLine(std::string_view line);

/// Reads the lines of one file in their order. It numbers lines that say no step: the first is 0, any other follows the
/// line before.
class MetricsReader {
 public:
  std::optional<MetricsLine> Read(std::string_view line);

 private:
  std::int64_t next_step_ = 0;
};

/// Why ParseMetricsLine takes nothing of the line, or not all of its values; empty: it takes all. An empty line lacks
/// nothing.
std::string WhyNotAllRead(std::string_view line);

/// A step as programs give it: without its fraction; nothing where no 64-bit integer is near.
std::optional<std::int64_t> WholeStep(double step);

/// The line with its newline; `unix_time` in seconds.
std::string FormatMetricsLine(const MetricsLine& metrics, double unix_time);

}  // namespace slipway
