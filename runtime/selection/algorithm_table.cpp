#include "runtime/selection/algorithm_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"
#include "core/text.h"
#include "core/units.h"
#include "runtime/selection/torus_sides.h"

namespace slipway::runtime {
namespace {

using Range = AlgorithmTable::Range;

constexpr std::int64_t kMax = AlgorithmTable::kMax;
constexpr std::string_view kHierarchical = "hierarchical_";
constexpr const char* kHowToWrite = "write NAME:FIRST-LAST;..., such as recursive_doubling:0-8192;ring:8193-max";

struct Named {
  Algorithm algorithm;
  std::string_view name;
  SharedWay way = SharedWay::kByRule;
};
constexpr std::array kNames = {Named{Algorithm::kShared, "shared"},
                               Named{Algorithm::kShared, "shared_together", SharedWay::kTogether},
                               Named{Algorithm::kShared, "shared_copies_32k", SharedWay::kCopies32K},
                               Named{Algorithm::kShared, "shared_copies_128k", SharedWay::kCopies128K},
                               Named{Algorithm::kShared, "shared_direct", SharedWay::kDirect},
                               Named{Algorithm::kRecursiveDoubling, "recursive_doubling"},
                               Named{Algorithm::kRing, "ring"},
                               Named{Algorithm::kRabenseifner, "rabenseifner"},
                               Named{Algorithm::kTorus, "torus"},
                               Named{Algorithm::kPairwise, "pairwise"},
                               Named{Algorithm::kMpi, "mpi"}};

/// Shared memory knows no leaders, and MPI is asked for all ranks or not at all.
bool HasName(const Choice& choice) {
  return !choice.hierarchical || (choice.algorithm != Algorithm::kShared && choice.algorithm != Algorithm::kMpi);
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const bool hierarchical : {false, true}) {
    for (const auto& [algorithm, name, way] : kNames) {
      const Choice choice{algorithm, hierarchical, way};
      if (HasName(choice)) names.push_back(NameOf(choice));
    }
  }
  return names;
}

bool CanBeHierarchical(const Placement& placement) {
  return placement.nodes > 1 && placement.ranks > placement.nodes && placement.shared_memory;
}

/// What comes nearest to `choice` where the ranks are. Each keeps what the choice stands for: shared memory inside a
/// node when there is any, and few bytes between nodes.
Choice Adapt(Choice choice, const Placement& placement, Demands demands) {
  const bool within_node = placement.one_shared_node();
  if (choice.way == SharedWay::kDirect && !placement.direct_copies) choice.way = SharedWay::kByRule;
  if (demands.canonical) {
    return within_node ? Choice{Algorithm::kShared, false, choice.way} : Choice{Algorithm::kPairwise, false};
  }
  if (choice.hierarchical && within_node) return {Algorithm::kShared, false};
  if (choice.algorithm == Algorithm::kShared && !within_node) choice = {Algorithm::kRabenseifner, true};
  choice.hierarchical = choice.hierarchical && CanBeHierarchical(placement);
  // The others would round to 16 bits at every step; this one adds all in float32 first.
  if (demands.narrow && choice.algorithm != Algorithm::kShared) choice.algorithm = Algorithm::kPairwise;
  return choice;
}

Choice ParseName(std::string_view name, std::string_view piece) {
  if (const auto choice = ChoiceOf(name)) return *choice;
  const auto where = name == piece ? std::string() : fmt::format(" in '{}'", piece);
  throw Error(ErrorKind::kUsage, fmt::format("unknown algorithm '{}'{}{}", name, where, SuggestWord(name, AllNames())));
}

std::int64_t ParseEnd(std::string_view text, std::string_view piece) {
  const auto bytes = ParseBytes(text);
  if (bytes && bytes->count <= static_cast<std::uint64_t>(kMax)) return static_cast<std::int64_t>(bytes->count);
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a size in '{}'", text, piece),
              "write bytes, with a unit if you like: 8192, 64KiB, 1MB");
}

/// "ring:8193-max" or "ring".
Range ParsePiece(std::string_view piece) {
  const auto colon = piece.find(':');
  Range range{0, kMax, ParseName(Trim(piece.substr(0, colon)), piece)};
  if (colon == std::string_view::npos) return range;
  const auto sizes = piece.substr(colon + 1);
  const auto dash = sizes.find('-');
  if (dash == std::string_view::npos) {
    throw Error(ErrorKind::kUsage, fmt::format("no range of sizes in '{}'", piece), kHowToWrite);
  }
  const auto last = Trim(sizes.substr(dash + 1));
  range.first = ParseEnd(Trim(sizes.substr(0, dash)), piece);
  range.last = last == "max" ? kMax : ParseEnd(last, piece);
  if (range.first > range.last) {
    throw Error(ErrorKind::kUsage, fmt::format("the range in '{}' ends before it begins", piece), "swap its ends");
  }
  return range;
}

std::string TextOf(const Range& range) {
  const auto last = range.last == kMax ? "max" : std::to_string(range.last);
  return fmt::format("{}:{}-{}", NameOf(range.choice), range.first, last);
}

void SortByFirst(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
}

void RefuseOverlaps(const std::vector<Range>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const auto& before = ranges[i - 1];
    if (before.last < ranges[i].first) continue;
    const auto next_step =
        before.last == kMax ? "" : fmt::format("both ends belong to a range: begin the second at {}", before.last + 1);
    throw Error(ErrorKind::kUsage, fmt::format("'{}' and '{}' overlap", TextOf(before), TextOf(ranges[i])), next_step);
  }
}

/// In the order of the sizes, without overlaps. Blank text has none.
std::vector<Range> ParseRanges(std::string_view text) {
  std::vector<Range> ranges;
  if (Trim(text).empty()) return ranges;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find(';', start), text.size());
    const auto piece = Trim(text.substr(start, end - start));
    if (piece.empty()) throw Error(ErrorKind::kUsage, fmt::format("an empty piece in '{}'", text), kHowToWrite);
    ranges.push_back(ParsePiece(piece));
    start = end + 1;
  }
  SortByFirst(ranges);
  RefuseOverlaps(ranges);
  return ranges;
}

/// The sizes between the ranges.
std::vector<std::pair<std::int64_t, std::int64_t>> Gaps(const std::vector<Range>& ranges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
  std::int64_t next = 0;
  for (const auto& range : ranges) {
    if (range.first > next) gaps.emplace_back(next, range.first - 1);
    if (range.last == kMax) return gaps;
    next = range.last + 1;
  }
  gaps.emplace_back(next, kMax);
  return gaps;
}

/// The parts of `base` that no range of `over` covers.
std::vector<Range> Uncovered(const std::vector<Range>& base, const std::vector<Range>& over) {
  std::vector<Range> parts;
  for (const auto& [first, last] : Gaps(over)) {
    for (const auto& range : base) {
      const Range part{std::max(first, range.first), std::min(last, range.last), range.choice};
      if (part.first <= part.last) parts.push_back(part);
    }
  }
  return parts;
}

/// Neighbours with the same algorithm become one range, so that equal tables look equal.
std::vector<Range> Joined(std::vector<Range> ranges) {
  SortByFirst(ranges);
  std::vector<Range> joined;
  for (const auto& range : ranges) {
    if (!joined.empty() && joined.back().choice == range.choice) {
      joined.back().last = range.last;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

/// Where the winner changes, as the message grows: from few steps to few bytes, and from there to neighbours only.
struct Turns {
  std::int64_t rabenseifner;  ///< its first size, after those of recursive doubling
  std::int64_t torus;         ///< its first size; not below `ring`: no torus
  std::int64_t ring;
};

constexpr std::int64_t kKiB = 1024;

/// Between nodes; docs/explanation/benchmarks-exchange.md, "Simulated", has the figures. The more steps a torus or a
/// ring takes, the larger a message must be. Rabenseifner's pairs are slow where P is no power of two, and share links
/// in a dragonfly.
Turns TurnsBetween(int members, Network network) {
  const bool pairs_up = std::has_single_bit(static_cast<unsigned>(members));
  const auto [rows, columns] = SidesOf(members);
  const std::int64_t torus = 16 * kKiB * (rows + columns);
  switch (network) {
    case Network::kDragonfly: return {2 * kKiB, torus, 64 * kKiB * members};
    case Network::kFatTree: return {8 * kKiB, pairs_up ? kMax : torus, (pairs_up ? 256 : 16) * kKiB * members};
    case Network::kUnknown: break;
  }
  return {4 * kKiB, pairs_up ? kMax : torus, 64 * kKiB * members};
}

/// Ranks of one node that cannot reach each other's memory.
constexpr Turns kTurnsWithinNode{16 * kKiB, kMax, 1024 * kKiB};

std::vector<Range> DefaultRanges(const Placement& placement, Network network) {
  const bool several_nodes = placement.nodes > 1;
  if (placement.one_shared_node()) return {{0, kMax, {Algorithm::kShared, false}}};
  const bool hierarchical = CanBeHierarchical(placement);
  const auto turns =
      several_nodes ? TurnsBetween(hierarchical ? placement.nodes : placement.ranks, network) : kTurnsWithinNode;
  const auto torus = std::min(turns.torus, turns.ring);
  std::vector<Range> ranges{{0, turns.rabenseifner - 1, {Algorithm::kRecursiveDoubling, hierarchical}},
                            {turns.rabenseifner, torus - 1, {Algorithm::kRabenseifner, hierarchical}}};
  if (torus < turns.ring) ranges.push_back({torus, turns.ring - 1, {Algorithm::kTorus, hierarchical}});
  ranges.push_back({turns.ring, kMax, {Algorithm::kRing, hierarchical}});
  return ranges;
}

struct Rule {
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::string table;
};

std::vector<Rule> ParseRules(std::string_view text) {
  const auto document = Json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("schema", Json()) != "slipway.algorithms/1") {
    throw Error(ErrorKind::kUsage, "not a document of the schema slipway.algorithms/1",
                "write the file again with: slipway bench allreduce --tune");
  }
  std::vector<Rule> rules;
  for (const auto& rule : document.at("rules").get<std::vector<Json>>()) {
    rules.push_back({rule.at("ranks").get<std::int64_t>(), rule.at("nodes").get<std::int64_t>(),
                     rule.at("table").get<std::string>()});
  }
  return rules;
}

}  // namespace

std::string NameOf(const Choice& choice) {
  for (const auto& [algorithm, name, way] : kNames) {
    if (algorithm != choice.algorithm || way != choice.way) continue;
    return std::string(choice.hierarchical ? kHierarchical : "") + std::string(name);
  }
  return "unknown";
}

std::optional<Choice> ChoiceOf(std::string_view name) {
  const bool hierarchical = name.starts_with(kHierarchical);
  if (hierarchical) name.remove_prefix(kHierarchical.size());
  for (const auto& [algorithm, known, way] : kNames) {
    const Choice choice{algorithm, hierarchical, way};
    if (known == name && HasName(choice)) return choice;
  }
  return std::nullopt;
}

std::optional<Network> NetworkOf(std::string_view name) {
  if (name == "unknown") return Network::kUnknown;
  if (name == "dragonfly") return Network::kDragonfly;
  if (name == "fat_tree") return Network::kFatTree;
  return std::nullopt;
}

AlgorithmTable AlgorithmTable::Default(const Placement& placement, Network network) {
  return {placement, DefaultRanges(placement, network)};
}

AlgorithmTable AlgorithmTable::With(std::string_view text) const {
  const auto over = ParseRanges(text);
  auto ranges = Uncovered(ranges_, over);
  ranges.insert(ranges.end(), over.begin(), over.end());
  return {placement_, Joined(std::move(ranges))};
}

AlgorithmTable AlgorithmTable::WithTuned(std::string_view json, const std::string& origin,
                                         const Placement& placement) const {
  return WithContext(fmt::format("in the tuned algorithms of '{}'", origin), [&] {
    try {
      auto table = *this;
      for (const auto& rule : ParseRules(json)) {
        const bool here = rule.ranks == placement.ranks && rule.nodes == placement.nodes;
        const auto changed = table.With(rule.table);  // so a wrong rule is an error wherever the file is used
        if (here) table = changed;
      }
      return table;
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorKind::kUsage, fmt::format("a rule is malformed: {}", error.what()),
                  "write the file again with: slipway bench allreduce --tune");
    }
  });
}

Choice AlgorithmTable::Select(std::int64_t bytes, Demands demands) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), bytes,
                                      [](std::int64_t size, const Range& range) { return size < range.first; });
  return Adapt(after == ranges_.begin() ? ranges_.front().choice : std::prev(after)->choice, placement_, demands);
}

AlgorithmTable AlgorithmTable::Usable(Demands demands) const {
  auto ranges = ranges_;
  for (auto& range : ranges) range.choice = Adapt(range.choice, placement_, demands);
  return {placement_, Joined(std::move(ranges))};
}

AlgorithmTable AlgorithmTable::WithoutWays() const {
  auto ranges = ranges_;
  for (auto& range : ranges) range.choice.way = SharedWay::kByRule;
  return {placement_, Joined(std::move(ranges))};
}

std::string AlgorithmTable::ToText() const {
  std::string text;
  for (const auto& range : ranges_) text += (text.empty() ? "" : ";") + TextOf(range);
  return text;
}

}  // namespace slipway::runtime
