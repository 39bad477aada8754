/// What a team's settings leave to the CPU between the ranks (core/cpu_work.h).
#pragma once

#include <optional>

#include "core/cpu_work.h"
#include "runtime/exchange/settings.h"

namespace slipway::runtime {

/// Whether nothing changes what the exchange of a synchronous step has given. Pure.
inline bool KeepsSums(const TeamSettings& settings) {
  return settings.clip_norm == 0 && (settings.accumulate == 1 || settings.op != SLIPWAY_MEAN);
}

/// `check_sums`: the team writes check sums of its tensors. Pure.
inline bool Does(const TeamSettings& settings, bool check_sums, CpuWork work) {
  switch (work) {
    case CpuWork::kDelay: return settings.lag > 0;
    case CpuWork::kClipNorm: return settings.clip_norm > 0;
    case CpuWork::kCheckFinite: return settings.check_finite;
    case CpuWork::kCompress: return settings.wire.has_value();
    case CpuWork::kAccumulate: return settings.accumulate > 1 && settings.op == SLIPWAY_MEAN;
    case CpuWork::kCheckSums: return check_sums;
  }
  return false;
}

/// The first of the list; nothing where only the exchange itself sees the values. Pure.
inline std::optional<CpuWork> FirstCpuWork(const TeamSettings& settings, bool check_sums) {
  for (const auto& entry : kCpuWork) {
    if (Does(settings, check_sums, entry.work)) return entry.work;
  }
  return std::nullopt;
}

}  // namespace slipway::runtime
