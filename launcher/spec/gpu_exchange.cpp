#include "launcher/spec/gpu_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/cpu_work.h"
#include "launcher/ranks/local/node_devices.h"

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

constexpr const char* kNotForAmd = "the kernel of the sums is PTX, which AMD's GPUs cannot run";

bool IsOfAmd(std::string type) {
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool instinct = type.size() > 2 && type.starts_with("mi") && std::isdigit(static_cast<unsigned char>(type[2]));
  return instinct || type.find("amd") != std::string::npos;
}

/// Why `auto` is staged; empty: the GPUs decide.
std::string WhyStaged(const Spec& spec, const GpuSurroundings& surroundings) {
  if (const auto fields = FieldsForTheCpu(spec); !fields.empty()) {
    return fmt::format("because of {}", fmt::join(fields, ", "));
  }
  if (spec.gradients.deterministic == Determinism::kOff) return "";
  if (surroundings.nodes > 1)
    return "because the ranks are on several nodes; with deterministic: false the fastest way is measured";
  if (surroundings.maker == GpuMaker::kAmd) return fmt::format("because {}", kNotForAmd);
  return surroundings.cpu_adds_otherwise ? "because the CPU does not add up in rank order, by the table of algorithms"
                                         : "";
}

std::string WhyRefused(const Spec& spec, GpuExchange way, GpuMaker maker) {
  const bool by_kernel = way == GpuExchange::kDirect && maker == GpuMaker::kAmd;
  return by_kernel ? fmt::format("direct refuses these GPUs: {}", kNotForAmd) : WhyRefusedOnGpus(spec, way);
}

GpuBits BitsOf(const GpuExchangePlan& plan, bool cpu_adds_otherwise) {
  switch (plan.way) {
    case GpuExchange::kNccl: return GpuBits::kLibrary;
    case GpuExchange::kMpi: return GpuBits::kMpi;
    case GpuExchange::kAuto: return plan.measured ? GpuBits::kMeasured : GpuBits::kCpu;
    case GpuExchange::kDirect: return cpu_adds_otherwise ? GpuBits::kRankOrder : GpuBits::kCpu;
    case GpuExchange::kStaged: break;
  }
  return GpuBits::kCpu;
}

}  // namespace

WordTable<GpuBits> WordsOf(GpuBits) {
  static constexpr Word<GpuBits> kWords[] = {
      {GpuBits::kCpu, "cpu", "those of the exchange in CPU memory"},
      {GpuBits::kRankOrder, "rank_order", "those of sums in rank order, not those of the exchange in CPU memory"},
      {GpuBits::kLibrary, "library", "the same on all ranks; not promised across versions of NCCL and links"},
      {GpuBits::kMpi, "mpi", "they depend on the MPI"},
      {GpuBits::kMeasured, "measured", "not promised: they depend on the way that is the fastest"}};
  return kWords;
}

std::vector<std::string> FieldsForTheCpu(const Spec& spec) {
  std::vector<std::string> fields;
  for (const auto& entry : kCpuWork) {
    if (Asks(spec, entry.work)) fields.emplace_back(entry.field);
  }
  return fields;
}

std::string WhyRefusedOnGpus(const Spec& spec, GpuExchange way) {
  if (way == GpuExchange::kAuto || way == GpuExchange::kStaged) return "";
  if (const auto fields = FieldsForTheCpu(spec); !fields.empty()) {
    return fmt::format("{} refuses tensors in GPU memory with {}", WordOf(way), fmt::join(fields, ", "));
  }
  const bool on_nodes = way == GpuExchange::kDirect && spec.launch.nodes_per_job > 1;
  return on_nodes ? "direct refuses tensors in GPU memory of ranks on several nodes" : "";
}

GpuMaker MakerOfGpus(const LaunchSpec& launch, const std::filesystem::path& root) {
  const auto& type = launch.slurm.gpu_type;
  const bool amd = type.empty() ? DeviceNumbersOfSystem(root) == DeviceNumbers::kInsideRocr : IsOfAmd(type);
  return amd ? GpuMaker::kAmd : GpuMaker::kUnknown;
}

GpuExchangePlan PlanGpuExchange(const Spec& spec, const GpuSurroundings& surroundings) {
  const auto& [nodes, cpu_adds_otherwise, maker, variable] = surroundings;
  GpuExchangePlan plan;
  plan.way = variable.value_or(spec.gradients.gpu_exchange);
  plan.by_variable = variable.has_value();
  plan.maker = maker;
  plan.in_nodes = nodes > 1 && spec.launch.ranks() > nodes;
  if (plan.way == GpuExchange::kAuto) {
    plan.staged = WhyStaged(spec, surroundings);
    plan.measured = plan.staged.empty() && spec.gradients.deterministic == Determinism::kOff;
  } else {
    plan.refused = WhyRefused(spec, plan.way, maker);
  }
  plan.bits = BitsOf(plan, cpu_adds_otherwise);
  return plan;
}

}  // namespace slipway::launcher
