/// `slipway logs`: what the ranks of a run printed.
#pragma once

#include <optional>
#include <string>

#include "launcher/cli/commands/session.h"
#include "launcher/ranks/monitor/rank_log.h"

namespace slipway::launcher {

enum class Follow { kNo, kYes };

struct LogsOptions {
  std::string run = "last";
  std::optional<int> rank;
  std::optional<int> trial;
  std::optional<int> attempt;  ///< default: the last
  Follow follow = Follow::kNo;
  LinePrefix prefix = LinePrefix::kRank;
};

/// Prints the lines rank by rank, each with a "[rank] " prefix that can be switched off. With `follow`, prints lines as
/// they arrive until the run ends. Of a workflow: as StepLogs.
int Logs(const LogsOptions& options, Session& session);

}  // namespace slipway::launcher
