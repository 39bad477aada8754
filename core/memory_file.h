/// A file in memory as the standard input of a process. Unlike a pipe it never blocks the writer.
#pragma once

#include <string_view>

#include "core/unique_handle.h"

namespace slipway {

/// Holds `text`, and is read from its start. Errors: SystemError.
UniqueFd FileInMemory(std::string_view text);

}  // namespace slipway
