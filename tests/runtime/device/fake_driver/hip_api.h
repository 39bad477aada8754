#pragma once

/// The same device under the names of AMD's HIP, as ROCm 6 has them. The library is libamdhip64.so. tests/fake_old_hip
/// has one of ROCm 5, which says other numbers for the types of memory.
///
/// HIP has no contexts in the hands of the program: each thread has a current device, at first 0, and the library makes
/// its context. Error codes are CUDA's, with CUDA's names. As in ROCm 7, each thread keeps the last error until
/// hipGetLastError takes it. The controls of fake_gpu.h know each entry by the CUDA entry that it stands for.

#include "tests/runtime/device/fake_driver/hip_types.h"

namespace slipway::fake_gpu {

extern "C" {
#define SLIPWAY_DECLARE_ENTRY(name, ...) __attribute__((visibility("default"))) Code name(__VA_ARGS__);
SLIPWAY_FAKE_HIP_ENTRIES(SLIPWAY_DECLARE_ENTRY)
#undef SLIPWAY_DECLARE_ENTRY
#define SLIPWAY_DECLARE_TEXT(name, ...) __attribute__((visibility("default"))) const char* name(__VA_ARGS__);
SLIPWAY_FAKE_HIP_TEXTS(SLIPWAY_DECLARE_TEXT)
#undef SLIPWAY_DECLARE_TEXT
}

}  // namespace slipway::fake_gpu
