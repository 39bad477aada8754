#include "launcher/spec/gpu_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace slipway::launcher {

std::vector<std::string> FieldsForTheCpu(const Spec& spec) {
  const auto& gradients = spec.gradients;
  std::vector<std::string> fields;
  if (gradients.mode == GradientMode::kDelayed) fields.emplace_back("mode: delayed");
  if (gradients.clip_norm) fields.emplace_back("clip_norm");
  if (gradients.check_finite) fields.emplace_back("check_finite");
  if (gradients.compress != Compression::kNone) fields.emplace_back("compress");
  if (gradients.accumulate > 1) fields.emplace_back("accumulate");
  if (spec.trace.sums > 0) fields.emplace_back("trace.sums");
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
