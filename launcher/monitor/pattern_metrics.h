/// Metrics of a program left as it is: what a pattern finds in the lines it prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics_line.h"
#include "launcher/monitor/pattern.h"

namespace slipway::launcher {

class PatternMetrics {
 public:
  /// `first_step`: of the first match, where steps are counted. Errors: as Pattern.
  explicit PatternMetrics(const std::string& pattern, std::int64_t first_step = 0)
      : pattern_(pattern), next_step_(first_step) {}

  /// What matches in a line, and in each part of it that a carriage return ends: a progress bar draws over itself. A
  /// group named `step` or `epoch` says when; without one, steps are counted.
  std::vector<MetricsLine> Take(std::string_view line);

 private:
  std::optional<MetricsLine> TakePart(std::string_view part);

  Pattern pattern_;
  std::int64_t next_step_;
};

}  // namespace slipway::launcher
