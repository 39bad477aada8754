/// Specs that are a part of something else.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/spec/load.h"

namespace slipway::launcher {

/// The text of a YAML file that the command line names; `what` is "spec" or similar.
/// Errors: kUsage when there is no such file, or it is none of that size.
std::string ReadYamlFile(const std::filesystem::path& path, const std::string& what);

/// A spec that a workflow has written: its references were replaced, and its relative paths start at `directory`.
SpecDocument LoadWrittenSpec(const std::filesystem::path& path, const std::filesystem::path& directory);
/// The same for a text without a file; messages call it `name`.
SpecDocument LoadSpecText(std::string text, const std::filesystem::path& name, const std::filesystem::path& directory);

}  // namespace slipway::launcher
