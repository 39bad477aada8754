/// Which boot of which machine this is.
#pragma once

#include <string>

namespace slipway {

/// Of the running kernel: containers of a machine share it, and no other machine has it. Empty where it cannot be read.
/// Source: /proc/sys/kernel/random/boot_id, random(4).
const std::string& BootId();

}  // namespace slipway
