/// Remarks on a spec file that was edited after the run began. The run continues with its own copy.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Where the user's own file lies, or lay. Errors: those of StoredSpec.
std::filesystem::path OriginalSpec(const RunFolder& folder);

/// "'exp.yaml' has changed since ...: train.args.lr 0.1 -> 0.2; ..."; empty when no field has changed, or the file is
/// gone. Changes by --set are not reported.
std::string RemarkOnEditedSpec(const RunFolder& folder);

}  // namespace slipway::launcher
