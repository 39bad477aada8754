/// The progress line while the metrics files of a run are read.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "core/progress.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The bytes of all metrics files of a single run. Trials of an ensemble have theirs in the book: 0.
inline Bytes MetricsBytes(const RunFolder& folder) {
  Bytes sum;
  std::error_code error;
  for (int attempt = 1; std::filesystem::is_directory(folder.attempt(attempt), error); ++attempt) {
    const auto bytes = std::filesystem::file_size(folder.attempt(attempt) / "metrics.jsonl", error);
    if (!error) sum.count += bytes;
  }
  return sum;
}

class MetricsProgress {
 public:
  /// The files are read `times` times.
  MetricsProgress(Output& output, const RunFolder& folder, std::uint64_t times = 1)
      : progress_(output, fmt::format("reading {}", folder.id()), {MetricsBytes(folder).count * times}) {}

  /// Must not be called after the end of this object.
  BytesRead OnRead() {
    return [this](std::uint64_t bytes) {
      done_.count += bytes;
      progress_.Update(done_);
    };
  }

 private:
  slipway::Progress progress_;  // not the view's
  Bytes done_;
};

}  // namespace slipway::launcher
