/// Staging into RAM beside cp, rsync and rclone.
#pragma once

#include <filesystem>

#include "core/json.h"

namespace slipway::bench {

struct CopyPart {
  std::filesystem::path directory;  ///< where the data is made, on a disk; removed at the end
  std::filesystem::path target;     ///< in RAM
  int rounds = 5;
  bool quick = false;
};

/// One document for each data set, cold and warm. A round runs every side once, and each round begins with
/// another.
Json BenchCopies(const CopyPart& part);
void PrintCopies(const Json& cases);

}  // namespace slipway::bench
