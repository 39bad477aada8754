/// A run in the file store of MLflow (`mlruns/<experiment>/<run>/{meta.yaml,metrics/,params/,tags/}`), without MLflow.
///
/// The experiment has the name of the spec. A single run is one run there; an ensemble is a parent with a child for
/// each trial.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/exports/output_folder.h"
#include "launcher/exports/run_metrics.h"

namespace slipway::launcher {

/// Writes the run into the store `store`, which is made if needed and may hold other experiments and runs. Runs of an
/// earlier export are replaced, one by one in one step each. Returns how many were written.
/// Cost: one pass over the metrics.
/// Errors: Error(kUsage) when the folder holds something that is no such store and `foreign` is kRefuse; SystemError.
int WriteMlflow(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& store, Foreign foreign);

/// Gives names that may stand in paths of the store: MLflow takes letters, digits, and '_-. /'.
class MlflowNames {
 public:
  /// The same for the same name. No two names have the same path, and none is a folder on the way to another.
  const std::string& PathOf(const std::string& name);

 private:
  std::map<std::string, std::string> paths_;
  std::set<std::string> files_;
  std::set<std::string> folders_;
};

}  // namespace slipway::launcher
