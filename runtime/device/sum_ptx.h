/// The text of the sum kernels, for the driver to translate. Source: runtime/device/kernels/sum.cu.
#pragma once

namespace slipway::runtime {

extern const char* const kSumPtx;

}  // namespace slipway::runtime
