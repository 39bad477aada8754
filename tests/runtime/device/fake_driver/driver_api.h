#pragma once

/// The entries of the fake CUDA driver, declared. Link the library, or use `decltype(&cuInit)` with dlsym.

#include "tests/runtime/device/fake_driver/driver_types.h"

namespace slipway::fake_gpu {

extern "C" {
#define SLIPWAY_DECLARE_ENTRY(name, ...) __attribute__((visibility("default"))) Code name(__VA_ARGS__);
SLIPWAY_FAKE_GPU_ENTRIES(SLIPWAY_DECLARE_ENTRY)
#undef SLIPWAY_DECLARE_ENTRY
}

}  // namespace slipway::fake_gpu
