/// The part of a run's MLPerf log that the training program writes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/mllog.h"

namespace slipway::runtime {

class RunLog {
 public:
  /// Empty path: no log is written. Errors: RuntimeError(SLIPWAY_ERROR_IO).
  explicit RunLog(const std::filesystem::path& path);

  /// Errors: RuntimeError(SLIPWAY_ERROR_IO).
  void Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata);

 private:
  std::optional<MllogFile> file_;
};

}  // namespace slipway::runtime
