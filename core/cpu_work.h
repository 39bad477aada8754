/// What an exchange of gradients does besides adding up. Each needs the CPU between the ranks, so GPUs do not add up in
/// their own memory.
///
/// This is the only list. `plan` and `validate` apply it to a spec (launcher/spec/gpu_exchange.cpp), the ranks to a
/// team (runtime/exchange/cpu_work.h). A new entry does not compile before both sides decide it.
#pragma once

#include <array>

namespace slipway {

enum class CpuWork { kDelay, kClipNorm, kCheckFinite, kCompress, kAccumulate, kCheckSums };

struct CpuWorkEntry {
  CpuWork work;
  const char* field;   ///< of a spec, as `plan` and `validate` name it
  const char* reason;  ///< as ranks name it, in comm.json and in messages
};

/// In the order in which ranks look for a reason.
inline constexpr std::array kCpuWork{
    CpuWorkEntry{CpuWork::kDelay, "mode: delayed", "mode is delayed"},
    CpuWorkEntry{CpuWork::kClipNorm, "clip_norm", "clip_norm is set"},
    CpuWorkEntry{CpuWork::kCheckFinite, "check_finite", "check_finite is set"},
    CpuWorkEntry{CpuWork::kCompress, "compress", "compress is set"},
    CpuWorkEntry{CpuWork::kAccumulate, "accumulate", "accumulate is set, and op is mean"},
    CpuWorkEntry{CpuWork::kCheckSums, "trace.sums", "trace.sums is set"},
};

constexpr const char* ReasonOf(CpuWork work) {
  for (const auto& entry : kCpuWork) {
    if (entry.work == work) return entry.reason;
  }
  return "";
}

}  // namespace slipway
