/// metrics.jsonl: what the training program reports, one line a value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/unique_handle.h"

namespace slipway::runtime {

class MetricsFile {
 public:
  /// Goes on with what is there. Errors: SystemError.
  explicit MetricsFile(const std::filesystem::path& path);

  /// Appends one line with one write, so that readers and a sudden end never see half of it between two others.
  /// Errors: SystemError.
  void Report(std::int64_t step, std::optional<double> epoch, std::string_view name, double value);

 private:
  UniqueFd fd_;
};

}  // namespace slipway::runtime
