/// The copies that the `#BB_LUA` lines of a job script request: the counterpart of burst_buffer.h. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/cluster/burst_buffer.h"

namespace slipway::launcher {

struct BufferRequest {
  std::vector<BufferTransfer> in;
  std::vector<BufferTransfer> out;
};

/// The variable that stands for the buffer's directory in directives.
inline constexpr std::string_view kLuaVariable = "BB_JOB_STRIPED";

/// Reads the comment lines at the head of `script`. Like Slurm, it stops at a NUL. Requests for the buffer itself
/// (`pool=... capacity=...`) are left to Slurm. `%%` stands for `%`; no other symbol is known.
/// Errors: Error(kUsage) quoting the line: an unknown or missing word, a path that is not absolute or leaves the
/// buffer, a list for stage_out.
BufferRequest ReadBufferRequest(std::string_view script);

}  // namespace slipway::launcher
