/// The log of MLPerf HPC: what a run did and when, one line an event, `:::MLLOG {...}`.
///
/// Launcher and training program append to the same file, one after the other. Keys and their order:
/// docs/reference/metrics.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/unique_handle.h"

namespace slipway {

/// Stored as POINT_IN_TIME, INTERVAL_START and INTERVAL_END.
enum class MllogEvent { kPoint, kStart, kStop };

/// A reading of the log: what stands in one line.
struct MllogLine {
  MllogEvent event = MllogEvent::kPoint;
  std::int64_t time_ms = 0;  ///< since 1970
  std::string key;
  std::string value;     ///< JSON
  std::string metadata;  ///< a JSON object
};

/// Nothing for a line that is not of this form (a torn one, or foreign text).
std::optional<MllogLine> ParseMllogLine(std::string_view line);

/// All lines of a log; none when there is no file.
std::vector<MllogLine> ReadMllog(const std::filesystem::path& path);

/// The log in the folder of a run or trial.
std::filesystem::path MllogIn(const std::filesystem::path& folder);
/// The earlier logs of a folder, oldest first: those of managers that have left the run to another.
std::vector<std::filesystem::path> PastMllogsIn(const std::filesystem::path& folder);
/// Makes the present log the newest of the earlier ones, and returns its path; nothing without a present log.
/// Errors: SystemError.
std::optional<std::filesystem::path> SetMllogAside(const std::filesystem::path& folder);

/// A log that is written.
class MllogFile {
 public:
  /// Goes on with what is there. Errors: SystemError.
  explicit MllogFile(std::filesystem::path path);

  /// Appends one line with one write, so that readers and a sudden end never see half of it between two others.
  ///
  /// A point without metadata is a fact, such as the batch size: it is written once, however often a run begins again.
  /// Errors: SystemError.
  void Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata, WallTime time);
  /// Now.
  void Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::set<std::string> facts_;  ///< key and value
};

}  // namespace slipway
