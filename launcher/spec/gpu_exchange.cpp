#include "launcher/spec/gpu_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_work.h"

namespace slipway::launcher {
namespace {

/// The program chooses `op`. With `accumulate` it counts as the mean, which is the default.
bool Asks(const Spec& spec, CpuWork work) {
  const auto& gradients = spec.gradients;
  switch (work) {
    case CpuWork::kDelay: return gradients.mode == GradientMode::kDelayed;
    case CpuWork::kClipNorm: return gradients.clip_norm.has_value();
    case CpuWork::kCheckFinite: return gradients.check_finite;
    case CpuWork::kCompress: return gradients.compress != Compression::kNone;
    case CpuWork::kAccumulate: return gradients.accumulate > 1;
    case CpuWork::kCheckSums: return spec.trace.sums > 0;
  }
  return false;
}

}  // namespace

std::vector<std::string> FieldsForTheCpu(const Spec& spec) {
  std::vector<std::string> fields;
  for (const auto& entry : kCpuWork) {
    if (Asks(spec, entry.work)) fields.emplace_back(entry.field);
  }
  return fields;
}

std::string WhyRefusedOnGpus(const Spec& spec, GpuExchangeWay way) {
  if (way == GpuExchangeWay::kAuto || way == GpuExchangeWay::kStaged) return "";
  if (const auto fields = FieldsForTheCpu(spec); !fields.empty()) {
    return fmt::format("{} refuses tensors in GPU memory with {}", WordOf(way), fmt::join(fields, ", "));
  }
  const bool on_nodes = way == GpuExchangeWay::kDirect && spec.launch.nodes_per_job > 1;
  return on_nodes ? "direct refuses tensors in GPU memory of ranks on several nodes" : "";
}

}  // namespace slipway::launcher
