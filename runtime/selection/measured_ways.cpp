#include "runtime/selection/measured_ways.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/processor.h"

namespace slipway::runtime {
namespace {

constexpr const char* kSchema = "slipway.ways/1";

std::string NameOfWay(SharedWay way) { return NameOf({Algorithm::kShared, false, way}); }

Json ToJson(const NodeKind& kind) {
  return Json{{"processor", kind.processor},
              {"cores", kind.cores},
              {"ranks", kind.ranks},
              {"direct_copies", kind.direct_copies},
              {"version", kind.version}};
}

bool IsWays(const Json& document) { return document.is_object() && document.value("schema", Json()) == kSchema; }

/// A list of a document; empty for anything else.
Json ListOf(std::string_view text, const char* member) {
  const auto document = Json::parse(text, nullptr, false);
  if (!IsWays(document)) return Json::array();
  auto list = document.value(member, Json());
  return list.is_array() ? list : Json::array();
}

std::string DocumentOf(Json nodes, Json mpis) {
  return Json{{"schema", kSchema}, {"nodes", std::move(nodes)}, {"gpu_mpi", std::move(mpis)}}.dump(2) + "\n";
}

bool IsOf(const Json& entry, const NodeKind& kind) {
  return entry.is_object() && entry.value("kind", Json()) == ToJson(kind);
}

bool IsTable(const std::string& text) {
  try {
    AlgorithmTable::Default({}).With(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string FastestWays(std::span<const WayTime> times) {
  const auto table = FastestBySize(times);
  if (table.empty()) return NameOfWay(SharedWay::kByRule);
  std::string text;
  std::int64_t first = 0;
  for (const auto& [last, way] : table) {
    const bool ends = last == kAnySize;
    const auto until = way == SharedWay::kTogether ? std::min(last, kMostTogether) : last;
    text +=
        fmt::format("{}{}:{}-{}", text.empty() ? "" : ";", NameOfWay(way), first, ends ? "max" : std::to_string(until));
    if (!ends) first = until + 1;
  }
  return text;
}

SharedWay FastestOfLargest(std::span<const WayTime> times) {
  const auto winners = WinnersOf(times);
  return winners.empty() ? SharedWay::kByRule : winners.back().way;
}

NodeKind KindOfThisNode(int ranks, bool direct_copies, std::string_view version) {
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return {ProcessorName(), cores, ranks, direct_copies, std::string(version)};
}

bool HoldsWays(std::string_view json) { return IsWays(Json::parse(json, nullptr, false)); }

std::optional<std::string> RecallWays(std::string_view json, const NodeKind& kind) {
  for (const auto& entry : ListOf(json, "nodes")) {
    if (!IsOf(entry, kind)) continue;
    const auto table = entry.value("table", Json());
    if (table.is_string() && IsTable(table.get<std::string>())) return table.get<std::string>();
  }
  return std::nullopt;
}

std::string RememberWays(std::string_view json, const NodeKind& kind, const std::string& table) {
  Json nodes = Json::array();
  for (const auto& entry : ListOf(json, "nodes")) {
    if (!IsOf(entry, kind)) nodes.push_back(entry);
  }
  nodes.push_back({{"kind", ToJson(kind)}, {"table", table}});
  return DocumentOf(std::move(nodes), ListOf(json, "gpu_mpi"));
}

bool RecallGpuMpi(std::string_view json, const std::string& mpi) {
  const auto known = ListOf(json, "gpu_mpi");
  return std::ranges::find(known, Json(mpi)) != known.end();
}

std::string RememberGpuMpi(std::string_view json, const std::string& mpi) {
  auto known = ListOf(json, "gpu_mpi");
  if (!RecallGpuMpi(json, mpi)) known.push_back(mpi);
  return DocumentOf(ListOf(json, "nodes"), std::move(known));
}

}  // namespace slipway::runtime
