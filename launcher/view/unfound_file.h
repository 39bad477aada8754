/// A file beside the spec that a program looked for in its working directory.
#pragma once

#include <filesystem>
#include <string_view>

namespace slipway::launcher {

/// The relative path in `directory` that a line of `lines` names as missing ("No such file or directory"); empty: none.
/// These are the words of a user's program, so use it for hints only.
std::filesystem::path UnfoundFile(std::string_view lines, const std::filesystem::path& directory);

}  // namespace slipway::launcher
