/// For loops that wait for another thread or rank.
#pragma once

namespace slipway::runtime {

/// Hint to the processor that this is a loop of waiting.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace slipway::runtime
