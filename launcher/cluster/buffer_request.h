/// What the `#BB_LUA` lines of a job script ask to be copied: the other side of burst_buffer.h. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/cluster/burst_buffer.h"

namespace slipway::launcher {

struct BufferRequest {
  std::vector<BufferTransfer> in;
  std::vector<BufferTransfer> out;
};

/// The variable that the directives call the buffer's directory by.
inline constexpr std::string_view kLuaVariable = "BB_JOB_STRIPED";

/// Reads the comment lines at the head of `script`, as Slurm does; it ends at a NUL, as that of Slurm does. What asks
/// for the buffer itself (`pool=... capacity=...`) is Slurm's to read. `%%` stands for `%`, and no other symbol is
/// known. Errors: Error(kUsage) quoting the line: an unknown word, one that lacks, a path that is not absolute or
/// leaves the buffer, a list for stage_out.
BufferRequest ReadBufferRequest(std::string_view script);

}  // namespace slipway::launcher
