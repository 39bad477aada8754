/// Staging into RAM beside cp, rsync and rclone.
#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace slipway::bench {

struct CopyPart {
  std::filesystem::path directory;  ///< where the data is made, on a disk; removed at the end
  std::filesystem::path target;     ///< in RAM
  int rounds = 5;
  bool quick = false;
  int beside = 0;     ///< busy loops that run at the same time
  std::string data;   ///< only this data set; empty: all
  std::string cache;  ///< only "cold" or "warm"; empty: both
};

/// One document for each data set, cold and warm. A round runs every side once, and each round begins with
/// another.
Json BenchCopies(const CopyPart& part);
void PrintCopies(const Json& cases);

}  // namespace slipway::bench
