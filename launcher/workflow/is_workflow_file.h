/// Which of the two kinds of files a YAML file is: the spec of one experiment, or a workflow.
#pragma once

#include <filesystem>

namespace slipway::launcher {

/// Whether a YAML file is a workflow: it has `steps` or `include` at its top. Cost: reads the file; parses it only when
/// it begins with a bracket.
bool IsWorkflowFile(const std::filesystem::path& file);

}  // namespace slipway::launcher
