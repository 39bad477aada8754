/// `slipway export`: the metrics of a run in the formats of other tools.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// Where to; empty: not in this format.
struct ExportOptions {
  std::string run = "last";
  std::string tensorboard;  ///< a folder
  std::string mlflow;       ///< a file store of MLflow
  std::string csv;          ///< a file
  std::string jsonl;        ///< a file
  bool force = false;
};
/// Errors: Error(kUsage) when no format is named, or what is there is no export and `force` is not given.
int Export(const ExportOptions& options, Session& session);

}  // namespace slipway::launcher
