/// The processes of this machine.
#pragma once

#include <sys/types.h>

#include <vector>

namespace slipway {

/// The numbers of all, from /proc. Some may have ended since. Empty where /proc cannot be read.
std::vector<pid_t> ProcessIds();

}  // namespace slipway
