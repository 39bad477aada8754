/// Optuna with SQLite storage, in processes of the system's Python.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace slipway::bench {

/// What `optuna_store.py` answers; nothing when Python or Optuna is not installed.
/// Errors: Error(kFailed) with what it said.
std::optional<Json> AskOptunaStore(const std::vector<std::string>& words);

/// Makes a study of so many trials of ten floats in `database`. False: Optuna is not installed.
bool FillOptunaStore(const std::filesystem::path& database, int trials);

}  // namespace slipway::bench
