/// The processor of this machine.
#pragma once

#include <string>

namespace slipway {

/// "Intel(R) Xeon(R) Processor"; "unknown" where the kernel names none. Source: "model name" in /proc/cpuinfo.
std::string ProcessorName();

}  // namespace slipway
