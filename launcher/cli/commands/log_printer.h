/// Prints the logs of ranks, including lines that arrive later.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/output.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct LinesToPrint {
  std::optional<int> rank = {};  ///< only of this one
  LinePrefix prefix = LinePrefix::kRank;
};

/// Prints the logs in one attempt's folder, file by file, and what is appended to them.
class LogPrinter {
 public:
  LogPrinter(std::filesystem::path folder, LinesToPrint lines, Output& output)
      : folder_(std::move(folder)), lines_(lines), output_(output) {}

  void PrintWhatIsThere();
  /// Prints what was appended to the file of this name, if it is a rank's log.
  void Look(const std::string& name);
  /// Prints last lines that have no newline.
  void Finish();

 private:
  void PrintLine(int rank, std::string_view line);

  std::filesystem::path folder_;
  LinesToPrint lines_;
  Output& output_;
  std::map<std::string, LineFollower> followers_;
};

/// Prints the logs of a run on other hosts, one attempt after the other. It reads the files only in Look: writes of
/// other hosts to a shared file system cause no event here.
class AttemptsPrinter {
 public:
  AttemptsPrinter(const RunFolder& run, LinePrefix prefix, Output& output)
      : run_(run), prefix_(prefix), output_(output) {}

  void Look();
  /// The run has ended.
  void Finish();

 private:
  const RunFolder& run_;
  LinePrefix prefix_;
  Output& output_;
  int attempt_ = 1;
  std::optional<LogPrinter> printer_;  ///< of that attempt, once it has begun
};

}  // namespace slipway::launcher
