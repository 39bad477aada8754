/// A file in memory as the standard input or output of a process. Unlike a pipe it never blocks the writer, and no
/// process that keeps it open delays the reader.
#pragma once

#include <string>
#include <string_view>

#include "core/unique_handle.h"

namespace slipway {

/// Holds `text`, and is read from its start. Errors: SystemError.
UniqueFd FileInMemory(std::string_view text = {});
/// All that it holds, wherever processes that share it stand. Errors: SystemError.
std::string TextOf(const UniqueFd& file);

}  // namespace slipway
