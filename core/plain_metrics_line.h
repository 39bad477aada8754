/// A fast reader for the form of metric lines that nearly all programs write.
#pragma once

#include <optional>
#include <string_view>

#include "core/metrics_line.h"

namespace slipway {

/// The same as ParseMetricsLine, about ten times faster, or nothing: then only the JSON library can tell. It takes
/// lines with the members `time`, `step`, `epoch` and `metrics`, each once, with plain names and numbers.
std::optional<MetricsLine> ParsePlainMetricsLine(std::string_view line);

}  // namespace slipway
