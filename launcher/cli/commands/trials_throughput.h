/// `slipway trials throughput`: the throughput metric of MLPerf HPC, from the logs of the trials.
#pragma once

#include <filesystem>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsThroughputOptions {
  std::filesystem::path run_folder;
  std::filesystem::path results;  ///< copy the logs there: result_0.txt ..., pruned_results/; empty: nowhere
};

/// JSON: `slipway.trials.throughput/1`. Errors: kUsage when no trial has a log, or `results` exists.
int TrialsThroughput(const TrialsThroughputOptions& options, Output& output);

}  // namespace slipway::launcher
