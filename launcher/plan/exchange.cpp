#include "launcher/plan/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/nearest_word.h"
#include "core/text.h"
#include "launcher/plan/training_command.h"
#include "launcher/spec/load.h"
#include "runtime/selection/measured_ways.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using runtime::AlgorithmTable;
using runtime::BitsBasis;
using runtime::Placement;

int RanksPerNode(const LaunchSpec& launch) {
  const auto word = Variable("SLIPWAY_RANKS_PER_NODE");
  if (word.empty()) return launch.ranks_per_node;
  int asked = 0;
  if (ParseNumber(word, asked) && asked >= 1) return std::min(asked, launch.ranks_per_node);
  throw Error(
      ErrorKind::kUsage,
      fmt::format("the environment variable SLIPWAY_RANKS_PER_NODE is '{}', not a number of ranks from 1", word),
      "correct it or unset it");
}

Placement PlacementOf(const LaunchSpec& launch) {
  const int per_node = RanksPerNode(launch);
  const int parts = (launch.ranks_per_node + per_node - 1) / per_node;
  return {launch.ranks(), launch.nodes_per_job * parts, true};
}

fs::path TunedFile() {
  const auto named = Variable("SLIPWAY_ALGORITHM_TABLE");
  if (!named.empty()) return fs::absolute(named).lexically_normal();
  const auto directory = UserSettingsDirectory();
  const bool there = !directory.empty() && IsRegularFile(directory / "algorithms.json");
  return there ? directory / "algorithms.json" : fs::path();
}

fs::path WaysFile() {
  const auto named = Variable("SLIPWAY_WAYS");
  if (!named.empty()) return fs::absolute(named).lexically_normal();
  const auto directory = UserSettingsDirectory();
  return directory.empty() ? fs::path() : directory / "ways.json";
}

std::optional<GpuExchange> GpuWayOfVariable() {
  const auto word = Variable("SLIPWAY_GPU_EXCHANGE");
  if (word.empty()) return {};
  const auto way = FromWord<GpuExchange>(word);
  if (way) return way;
  throw Error(ErrorKind::kUsage,
              fmt::format("the environment variable SLIPWAY_GPU_EXCHANGE is '{}', no way to exchange GPU memory{}",
                          word, SuggestWord(word, AllWords<GpuExchange>())),
              "correct it or unset it");
}

/// Of a node like this one; on a login node it may be another kind than that of the ranks.
std::string MeasuredWays(const ExchangePlan& exchange) {
  if (exchange.ways.empty() || !exchange.placement.one_shared_node()) return "";
  try {
    const auto text = ReadFileIfPresent(exchange.ways).value_or("");
    for (const bool direct : {true, false}) {
      const auto kind = runtime::KindOfThisNode(exchange.placement.ranks, direct, Version());
      if (const auto known = runtime::RecallWays(text, kind)) return *known;
    }
  } catch (const Error&) {
    return "";  // the ranks measure when they cannot read it
  }
  return "";
}

AlgorithmTable TableFor(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  auto table = AlgorithmTable::Default(exchange.placement, *runtime::NetworkOf(gradients.network));
  if (!exchange.tuned.empty()) {
    table = table.WithTuned(ReadFile(exchange.tuned), exchange.tuned.string(), exchange.placement);
  }
  table = table.With(gradients.algorithms);
  return WithContext("in the environment variable SLIPWAY_ALGORITHMS",
                     [&] { return table.With(Variable("SLIPWAY_ALGORITHMS")); });
}

/// With the placement and the table alone.
ExchangePlan PlanTable(const Spec& spec) {
  ExchangePlan exchange;
  exchange.placement = PlacementOf(spec.launch);
  exchange.tuned = TunedFile();
  exchange.table = TableFor(exchange, spec.gradients);
  return exchange;
}

std::string SizesOf(const AlgorithmTable::Range& range) {
  if (range.last == AlgorithmTable::kMax)
    return range.first == 0 ? "every size" : fmt::format("from {} B", range.first);
  if (range.first == 0) return fmt::format("up to {} B", range.last);
  return fmt::format("{} to {} B", range.first, range.last);
}

Json RangesOf(const AlgorithmTable& table) {
  Json ranges = Json::array();
  for (const auto& range : table.ranges()) {
    const bool open = range.last == AlgorithmTable::kMax;
    ranges.push_back({{"first_bytes", range.first},
                      {"last_bytes", open ? Json() : Json(range.last)},
                      {"algorithm", NameOf(range.choice)}});
  }
  return ranges;
}

/// In another order than GPUs of the node that are direct. On several nodes none is.
bool CpuAddsOtherwise(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  const auto& placement = exchange.placement;
  return placement.ranks > 1 && placement.one_shared_node() &&
         !AddsInOrderOfRanks(exchange.table, gradients.deterministic == Determinism::kCanonical);
}

/// As the ranks will use it.
AlgorithmTable UsableTable(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  const bool canonical = gradients.deterministic == Determinism::kCanonical;
  return exchange.table.Usable({canonical, gradients.compress != Compression::kNone});
}

bool PromisesBits(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  return gradients.deterministic != Determinism::kOff && !exchange.library_adds_up;
}

GpuSurroundings SurroundingsIn(const ExchangePlan& exchange, const Spec& spec) {
  return {.nodes = exchange.placement.nodes,
          .cpu_adds_otherwise = CpuAddsOtherwise(exchange, spec.gradients),
          .variable = {}};
}

std::string DescribeAutomatic(const GpuExchangePlan& gpu) {
  if (!gpu.staged.empty()) return "staged, " + gpu.staged;
  if (!gpu.measured) return "direct where NVIDIA GPUs reach each other, else staged";
  return fmt::format("the fastest way{}, measured at the start{}", gpu.maker == GpuMaker::kAmd ? " but direct" : "",
                     gpu.in_nodes ? "; nccl_in_nodes is one of them" : "");
}

/// Null: the ranks have no GPUs of their own.
Json GpuBitsIn(const ExchangePlan& exchange) { return exchange.has_gpus ? Json(WordOf(exchange.gpu.bits)) : Json(); }

std::string WordsFor(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  std::string text(WordOf(gradients.mode));
  if (gradients.mode == GradientMode::kDelayed) {
    text += fmt::format(" by {}", Counted(gradients.lag, "step"));
  }
  if (gradients.compress != Compression::kNone) text += fmt::format(", {} on the wire", WordOf(gradients.compress));
  text += fmt::format(", buckets of {}", FormatBytes(gradients.bucket));
  if (exchange.gpu.way != GpuExchange::kAuto) text += fmt::format(", GPU memory {}", WordOf(exchange.gpu.way));
  if (!PromisesBits(exchange, gradients)) return text;
  text += gradients.deterministic == Determinism::kOn ? ", the same bits in every run"
                                                      : ", the same bits wherever the ranks are";
  return AddsInOwnOrder(exchange.gpu.way) ? text + " (CPU memory only)" : text;
}

}  // namespace

ExchangePlan PlanExchange(const Spec& spec) {
  auto exchange = PlanTable(spec);
  exchange.ways = WaysFile();
  exchange.measured = MeasuredWays(exchange);
  exchange.has_gpus = spec.launch.gpus_per_rank > 0;
  auto surroundings = SurroundingsIn(exchange, spec);
  surroundings.maker = MakerOfGpus(spec.launch);
  surroundings.variable = GpuWayOfVariable();
  exchange.gpu = PlanGpuExchange(spec, surroundings);
  exchange.library_adds_up =
      AddsInOwnOrder(exchange.gpu.way) && (exchange.has_gpus || AddsInOwnOrder(spec.gradients.gpu_exchange));
  exchange.bits = BasisOfBits(exchange.table, spec.launch.ranks(), RanksPerNode(spec.launch),
                              spec.gradients.deterministic == Determinism::kCanonical,
                              static_cast<std::int64_t>(spec.gradients.bucket.count), Version());
  return exchange;
}

GpuSurroundings SurroundingsOfRanks(const Spec& spec) { return SurroundingsIn(PlanTable(spec), spec); }

std::string Describe(const GpuExchangePlan& gpu) {
  if (gpu.way == GpuExchange::kAuto) return DescribeAutomatic(gpu);
  const bool two = gpu.way == GpuExchange::kNccl && gpu.in_nodes;
  return fmt::format("{}{}, as {} says{}{}", WordOf(gpu.way),
                     two ? " or nccl_in_nodes, the faster one at the start" : "",
                     gpu.by_variable ? "SLIPWAY_GPU_EXCHANGE" : "gpu_exchange",
                     gpu.refused.empty() ? "" : "; an error: ", gpu.refused);
}

std::string Describe(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  const auto ranks = exchange.placement.ranks;
  const auto nodes = exchange.placement.nodes;
  if (ranks == 1) return "exchange: none, there is one rank\n";
  auto text =
      fmt::format("exchange: {} ranks on {}, {}\n", ranks, Counted(nodes, "node"), WordsFor(exchange, gradients));
  const auto usable = UsableTable(exchange, gradients);
  for (const auto& range : usable.ranges()) text += fmt::format("  {:<22} {}\n", SizesOf(range), NameOf(range.choice));
  if (usable != exchange.table) {
    text += fmt::format("  {:<22} {}\n", "the table says", exchange.table.ToText());
  }
  if (!exchange.measured.empty()) text += fmt::format("  {:<22} {}\n", "shared, as measured", exchange.measured);
  if (exchange.has_gpus) {
    text += fmt::format("  {:<22} {}\n", "GPU memory", Describe(exchange.gpu));
    text += fmt::format("  {:<22} {}\n", "bits of its sums", MeaningOf(exchange.gpu.bits));
  }
  if (!exchange.tuned.empty()) text += fmt::format("  {:<22} {}\n", "tuned by", exchange.tuned.string());
  return text;
}

Json ToJson(const ExchangePlan& exchange, const GradientsSpec& gradients) {
  return Json{{"nodes", exchange.placement.nodes},
              {"mode", WordOf(gradients.mode)},
              {"lag", gradients.lag},
              {"compress", WordOf(gradients.compress)},
              {"deterministic", ToJson(gradients.deterministic)},
              {"algorithms", exchange.table.ToText()},
              {"ranges", RangesOf(UsableTable(exchange, gradients))},
              {"ways", exchange.measured.empty() ? Json() : Json(exchange.measured)},
              {"tuned_by", exchange.tuned.empty() ? Json() : Json(exchange.tuned.string())},
              {"gpu_exchange", WordOf(exchange.gpu.way)},
              {"gpu_bits", GpuBitsIn(exchange)},
              {"bits", PromisesBits(exchange, gradients) ? ToJson(exchange.bits) : Json()}};
}

std::vector<std::string> ChangesOfBits(const Json& stored, const ExchangePlan& now) {
  const auto before = stored.is_object() ? stored.value("bits", Json()) : Json();
  if (!before.is_object()) return {};
  std::vector<std::string> changes;
  if (now.library_adds_up) {
    changes.push_back(fmt::format("gpu_exchange was {}, now \"{}\"", stored.value("gpu_exchange", Json()).dump(),
                                  WordOf(now.gpu.way)));
  }
  if (const auto gpu_bits = GpuBitsIn(now); !gpu_bits.is_null() && !now.library_adds_up) {
    const auto old = stored.value("gpu_bits", Json());
    const bool in_rank_order = gpu_bits == WordOf(GpuBits::kRankOrder) || old == WordOf(GpuBits::kRankOrder);
    if (in_rank_order && old != gpu_bits) {
      changes.push_back(fmt::format("gpu_bits was {}, now {}", old.dump(), gpu_bits.dump()));
    }
  }
  if (before.value("hash", Json()) == HashOf(now.bits)) return changes;
  const auto present = ToJson(now.bits);
  for (const auto& [name, value] : present.items()) {
    const auto old = before.value(name, Json());
    if (name == "hash" || old == value) continue;
    changes.push_back(fmt::format("{} was {}, now {}", name, old.dump(), value.dump()));
  }
  return changes;
}

}  // namespace slipway::launcher
