/// Reads and checks a workflow file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// `overrides` are KEY=VALUE, such as "steps.train.retries=2".
/// Errors: SpecError with everything that is wrong; kUsage when the file cannot be read.
/// Cost: 1,000 steps of a command each in about 0.1 s.
Workflow ReadWorkflow(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

/// What `defaults` may have.
std::span<const std::string_view> FieldsThatStepsShare();

}  // namespace slipway::launcher
