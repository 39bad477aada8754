/// Warns users which files of a folder a command left out.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/output.h"
#include "staging/dataset/left_out.h"

namespace slipway::launcher {

/// Warns in every output mode; without such files it does nothing. `where`: the folder or the dataset. `taken`: the
/// number of files used.
void WarnOfLeftOut(std::string_view where, std::span<const staging::LeftOutFile> left_out, std::size_t taken,
                   Output& output);

}  // namespace slipway::launcher
