/// Metrics of a program left as it is: what a pattern finds in the lines it prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/metrics_line.h"
#include "launcher/monitor/pattern.h"

namespace slipway::launcher {

class PatternMetrics {
 public:
  /// Errors: as Pattern.
  explicit PatternMetrics(const std::string& pattern) : pattern_(pattern) {}

  /// The metrics of a line that matches. A group named `step` or `epoch` says when; without one, steps are counted.
  std::optional<MetricsLine> Take(std::string_view line);

 private:
  Pattern pattern_;
  std::int64_t matches_ = 0;
};

}  // namespace slipway::launcher
