/// What speaks against running a trial again as it is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::launcher {

/// That the trial, whose `attempts` these are, will run into its time limit again, and how it gets more time; empty
/// when nothing speaks against it. `has_manager`: the run has one, which holds to the limit that it began with.
std::string RemarkOnRetry(const std::filesystem::path& run_folder, const std::vector<ensemble::AttemptRecord>& attempts,
                          bool has_manager);

}  // namespace slipway::launcher
