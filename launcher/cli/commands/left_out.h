/// Tells users which files of a folder a command did not take.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/output.h"
#include "staging/dataset/left_out.h"

namespace slipway::launcher {

/// In every output mode; nothing when there are none. `where`: the folder or the dataset; `taken`: the other files.
void WarnOfLeftOut(std::string_view where, std::span<const staging::LeftOutFile> left_out, std::size_t taken,
                   Output& output);

}  // namespace slipway::launcher
