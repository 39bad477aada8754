#include "launcher/view/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/text_table.h"
#include "launcher/spec/changes.h"
#include "launcher/spec/secrets.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

template <class Visitor, MaybeConst<NumberRow> Struct>
void Visit(Visitor& visit, Struct& row) {
  visit("name", row.name);
  visit("of", row.of);
  visit("values", row.values);
}

template <class Visitor, MaybeConst<FactDifference> Struct>
void Visit(Visitor& visit, Struct& row) {
  visit("fact", row.fact);
  visit("values", row.values);
}

template <class Visitor, MaybeConst<Parting> Struct>
void Visit(Visitor& visit, Struct& parting) {
  visit("step", parting.step);
  visit("metric", parting.metric);
  visit("first", parting.first);
  visit("other", parting.other);
}

template <class Visitor, MaybeConst<SumsParting> Struct>
void Visit(Visitor& visit, Struct& parting) {
  visit("step", parting.step);
  visit("same_before", parting.same_before);
  visit("of", parting.of);
  visit("team", parting.team);
  visit("tensor", parting.tensor);
  visit("name", parting.name);
  visit("bytes", parting.bytes);
  visit("ranks", parting.ranks);
  visit("ranks_compared", parting.ranks_compared);
  visit("ranks_of_job", parting.ranks_of_job);
}

template <class Visitor, MaybeConst<SumsOfPair> Struct>
void Visit(Visitor& visit, Struct& sums) {
  visit("steps", sums.steps);
  visit("ranks", sums.ranks);
  visit("teams", sums.teams);
  visit("parting", sums.parting);
  visit("remarks", sums.remarks);
}

template <class Visitor, MaybeConst<BitsOfPair> Struct>
void Visit(Visitor& visit, Struct& bits) {
  visit("run", bits.run);
  visit("expected", bits.expected);
  visit("reasons", bits.reasons);
  visit("compared", bits.compared);
  visit("parting", bits.parting);
  visit("left_out", bits.left_out);
  visit("sums", bits.sums);
}

template <class Visitor, MaybeConst<Comparison> Struct>
void Visit(Visitor& visit, Struct& comparison) {
  visit("runs", comparison.runs);
  visit("spec", comparison.spec);
  visit("metrics", comparison.metrics);
  visit("costs", comparison.costs);
  visit("provenance", comparison.provenance);
  visit("bits", comparison.bits);
  visit("warnings", comparison.warnings);
}

namespace {

using Runs = std::span<const ComparedRun>;

constexpr std::size_t kWidestCell = 44;

/// Fields that change no bit of a result. A dataset is compared by its fingerprint, not by where it lies.
constexpr std::string_view kWithoutEffect[] = {"name",
                                               "description",
                                               "provenance",
                                               "tags",
                                               "notify",
                                               "report",
                                               "tiers",
                                               "site",
                                               "launch.engine",
                                               "launch.mpi",
                                               "launch.bind",
                                               "launch.slurm",
                                               "launch.files",
                                               "launch.workdir",
                                               "launch.time_limit",
                                               "launch.memory_per_rank",
                                               "launch.modules",
                                               "launch.cpus_per_rank",
                                               "checkpoint",
                                               "resilience",
                                               "trace",
                                               "mllog",
                                               "metrics",
                                               "gradients.algorithms"};
constexpr std::string_view kOfDataWithoutEffect[] = {".source", ".tier", ".keep", ".verify", ".bandwidth", ".overlap"};

bool IsWithin(std::string_view key, std::string_view path) {
  return key.starts_with(path) && (key.size() == path.size() || key[path.size()] == '.');
}

bool ChangesBits(std::string_view key) {
  if (key.starts_with("data.")) {
    return std::ranges::none_of(kOfDataWithoutEffect, [&](std::string_view end) { return key.ends_with(end); });
  }
  return std::ranges::none_of(kWithoutEffect, [&](std::string_view path) { return IsWithin(key, path); });
}

// ---- the spec

Json SpecOfRun(const ComparedRun& run) {
  return run.plan.is_object() ? run.plan.value("spec", Json::object()) : Json::object();
}

std::vector<SpecRow> RowsOfSpec(Runs runs) {
  std::vector<Json> specs;
  for (const auto& run : runs) specs.push_back(WithoutSecrets(SpecOfRun(run)));
  return DifferingFields(specs);
}

// ---- metrics and costs

/// Rows by name, in the order in which they come.
class NumberRows {
 public:
  explicit NumberRows(std::size_t runs) : runs_(runs) {}

  void Set(const std::string& name, const std::string& of, std::size_t run, std::optional<double> value) {
    if (!value) return;
    auto found = std::ranges::find_if(rows_, [&](const NumberRow& row) { return row.name == name && row.of == of; });
    if (found == rows_.end()) {
      found = rows_.insert(rows_.end(), {name, of, std::vector<std::optional<double>>(runs_)});
    }
    found->values[run] = value;
  }

  std::vector<NumberRow> Take() { return std::move(rows_); }

 private:
  std::size_t runs_;
  std::vector<NumberRow> rows_;
};

/// The least and the greatest value over all attempts; the last one of the last attempt.
void SetCurve(const CurveView& curve, std::size_t run, NumberRows& rows, std::map<std::string, CurveView>& seen) {
  auto& all = seen[curve.metric];
  const auto lower = [](auto left, auto right) { return !left || (right && *right < *left) ? right : left; };
  all.lowest = lower(all.lowest, curve.lowest);
  const auto higher = [](auto left, auto right) { return !left || (right && *right > *left) ? right : left; };
  all.highest = higher(all.highest, curve.highest);
  rows.Set(curve.metric, "last", run, curve.value.empty() ? std::nullopt : curve.value.back());
  rows.Set(curve.metric, "lowest", run, all.lowest);
  rows.Set(curve.metric, "highest", run, all.highest);
}

std::vector<NumberRow> RowsOfMetrics(Runs runs) {
  NumberRows rows(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& view = runs[i].view;
    if (view.best) rows.Set(view.best->metric, "best", i, view.best->value);
    std::map<std::string, CurveView> seen;
    for (const auto& curve : view.curves) {
      if (!curve.trial) SetCurve(curve, i, rows, seen);
    }
  }
  return rows.Take();
}

std::vector<NumberRow> RowsOfCosts(Runs runs) {
  NumberRows rows(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& accounting = runs[i].view.accounting;
    if (!accounting) continue;
    rows.Set("queue", "s", i, accounting->queue_s);
    rows.Set("nodes", "h", i, accounting->node_hours);
    rows.Set("cores", "h", i, accounting->core_hours);
    if (accounting->gpu_hours > 0) rows.Set("gpus", "h", i, accounting->gpu_hours);
    rows.Set("cpu_energy", "J", i, accounting->energy.cpu_j);
    rows.Set("gpu_energy", "J", i, accounting->energy.gpu_j);
    if (const auto share = accounting->gpu_use.utilisation) rows.Set("gpu_utilisation", "%", i, 100 * *share);
    for (const auto& [part, seconds] : accounting->parts) {
      rows.Set(part, "%", i, 100 * seconds / accounting->node_seconds);
    }
  }
  return rows.Take();
}

// ---- provenance and bits

std::vector<std::optional<Provenance>> ProvenancesOf(Runs runs, std::vector<std::string>& warnings) {
  std::vector<std::optional<Provenance>> all;
  for (const auto& run : runs) {
    all.emplace_back();
    if (run.view.provenance.is_null()) {
      warnings.push_back(fmt::format("{}: no provenance is recorded", run.view.run));
      continue;
    }
    try {
      all.back() = ProvenanceFromJson(run.view.provenance);
    } catch (const Error& error) {
      warnings.push_back(fmt::format("{}: {}", run.view.run, error.message()));
    }
  }
  return all;
}

Json OfExchange(const ComparedRun& run, const char* member) {
  const auto exchange = run.plan.is_object() ? run.plan.value("exchange", Json::object()) : Json::object();
  return exchange.is_object() ? exchange.value(member, Json()) : Json();
}

std::string WhyNoBits(const ComparedRun& first, const ComparedRun& other) {
  for (const auto* run : {&first, &other}) {
    if (OfExchange(*run, "bits").is_object()) continue;
    const auto word = OfExchange(*run, "gpu_exchange");
    const auto way = word.is_string() ? FromWord<GpuExchange>(word.get<std::string>()) : std::nullopt;
    if (way && AddsInOwnOrder(*way)) return fmt::format("gpu_exchange is {}", WordOf(*way));
  }
  return "gradients.deterministic is false";
}

void AddReasonsOfExchange(const ComparedRun& first, const ComparedRun& other, std::vector<std::string>& reasons) {
  const auto left = OfExchange(first, "bits");
  const auto right = OfExchange(other, "bits");
  if (!left.is_object() || !right.is_object()) {
    if (first.view.ranks > 1 || other.view.ranks > 1) reasons.emplace_back(WhyNoBits(first, other));
    return;
  }
  if (left.value("hash", Json()) == right.value("hash", Json())) return;
  for (const auto& [name, value] : left.items()) {
    if (name != "hash" && right.value(name, Json()) != value) {
      reasons.push_back(fmt::format("exchange: {} {} and {}", name, value.dump(), right.value(name, Json()).dump()));
    }
  }
}

bool FactChangesBits(const std::string& fact) {
  constexpr std::string_view kFacts[] = {"cpu",  "gpu",    "container", "versions.glibc", "versions.python",
                                         "data", "package"};
  return SetsThreads(VariableIn(fact)) ||
         std::ranges::any_of(kFacts, [&](std::string_view each) { return IsWithin(fact, each); });
}

void AddReasonsOfMachine(const std::optional<Provenance>& first, const std::optional<Provenance>& other,
                         std::vector<std::string>& reasons) {
  if (!first || !other) return reasons.emplace_back("the code is not recorded"), void();
  if (!HaveSameCode(*first, *other)) reasons.emplace_back("the code differs, or is not recorded");
  const std::array both = {*first, *other};
  for (const auto& row : DifferencesBetween(both)) {
    if (FactChangesBits(row.fact)) reasons.push_back(row.fact + " differs");
  }
}

std::vector<std::string> WhyNotSameBits(const ComparedRun& first, const ComparedRun& other,
                                        const std::optional<Provenance>& of_first,
                                        const std::optional<Provenance>& of_other) {
  std::vector<std::string> reasons;
  if (first.view.ensemble || other.view.ensemble) return {"ensembles are not compared by bits"};
  if (!first.plan.is_object() || !other.plan.is_object()) return {"plan.json could not be read"};
  AddReasonsOfExchange(first, other, reasons);
  for (const auto& change : ChangesBetween(SpecOfRun(first), SpecOfRun(other))) {
    if (ChangesBits(change.key)) reasons.push_back(change.key + " differs");
  }
  AddReasonsOfMachine(of_first, of_other, reasons);
  return reasons;
}

bool IsSameNumber(double left, double right) { return left == right || (std::isnan(left) && std::isnan(right)); }

void CompareValues(const StepValues& first, const StepValues& other, BitsOfPair& bits) {
  std::set<std::string> left_out;
  for (const auto& [step, values] : first) {
    const auto there = other.find(step);
    if (there == other.end()) continue;
    for (const auto& [name, value] : values) {
      const auto found = there->second.find(name);
      if (found == there->second.end()) continue;
      if (MeasuresTime(name)) {
        left_out.insert(name);
        continue;
      }
      ++bits.compared;
      if (!bits.parting && !IsSameNumber(value, found->second))
        bits.parting = Parting{step, name, value, found->second};
    }
  }
  bits.left_out.assign(left_out.begin(), left_out.end());
}

// ---- words

std::string Cell(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text.size() <= kWidestCell ? text : text.substr(0, kWidestCell - 3) + "...";
}

std::string WordsFor(const Json& value) {
  if (value.is_null()) return "-";
  if (value == "") return "\"\"";
  return PlainText(value);
}

template <class Row, class Name, class Text>
std::string TableText(const std::string& title, const std::vector<std::string>& runs, const std::vector<Row>& rows,
                      const Name& name_of, const Text& text_of) {
  if (rows.empty()) return title + ": no difference\n\n";
  std::vector<std::string> header = {title};
  header.insert(header.end(), runs.begin(), runs.end());
  TextTable table(header);
  for (const auto& row : rows) {
    std::vector<std::string> cells = {name_of(row)};
    for (const auto& value : row.values) cells.push_back(Cell(text_of(value)));
    table.AddRow(std::move(cells));
  }
  return table.Render() + "\n";
}

std::string NumberText(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : "-"; }
std::string CostText(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

/// "node-hours", "queue (s)", "GPU energy (J)".
std::string NameOfCost(const NumberRow& row) {
  if (row.of == "h") return (row.name == "gpus" ? "GPU" : row.name.substr(0, row.name.size() - 1)) + "-hours";
  if (row.of == "J") return row.name == "gpu_energy" ? "GPU energy (J)" : "CPU energy (J)";
  if (row.name == "gpu_utilisation") return "GPU utilisation (%)";
  return fmt::format("{} ({})", row.name, row.of);
}

std::string TextOf(const std::string& first, const BitsOfPair& bits) {
  auto text = fmt::format("bits of {} and {}: ", first, bits.run);
  text += bits.expected ? "expected to be the same\n"
                        : "need not be the same: " + fmt::format("{}\n", fmt::join(bits.reasons, "; "));
  if (bits.sums) text += Describe(*bits.sums);
  if (bits.compared == 0) return text + "  no step has values of both\n";
  if (!bits.parting) return text + fmt::format("  all {} values are the same\n", bits.compared);
  const auto& [step, metric, left, right] = *bits.parting;
  const auto* they = bits.sums && bits.sums->parting ? "the metrics" : "they";
  return text + fmt::format("  {} part at step {}: {} {:.17g} and {:.17g}\n", they, step, metric, left, right);
}

}  // namespace

bool MeasuresTime(std::string_view metric) {
  constexpr std::string_view kEnds[] = {"_per_second", "_per_s", "seconds",    "_s",
                                        "_ms",         "time",   "throughput", "wait_share"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return metric.ends_with(end); });
}

Comparison Compare(Runs runs) {
  Comparison comparison;
  for (const auto& run : runs) comparison.runs.push_back(run.view.run);
  comparison.spec = RowsOfSpec(runs);
  comparison.metrics = RowsOfMetrics(runs);
  comparison.costs = RowsOfCosts(runs);
  const auto provenances = ProvenancesOf(runs, comparison.warnings);
  std::vector<Provenance> known;
  for (const auto& each : provenances) known.push_back(each.value_or(Provenance()));
  comparison.provenance = DifferencesBetween(known);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    BitsOfPair bits{runs[i].view.run, false, {}, 0, {}, {}, runs[i].sums};
    bits.reasons = WhyNotSameBits(runs[0], runs[i], provenances[0], provenances[i]);
    bits.expected = bits.reasons.empty();
    CompareValues(runs[0].values, runs[i].values, bits);
    comparison.bits.push_back(std::move(bits));
  }
  return comparison;
}

WordTable<ComparisonOutcome> WordsOf(ComparisonOutcome) {
  static constexpr Word<ComparisonOutcome> kWords[] = {{ComparisonOutcome::kSame, "same"},
                                                       {ComparisonOutcome::kDifferent, "different"},
                                                       {ComparisonOutcome::kUnknown, "unknown"}};
  return kWords;
}

ComparisonOutcome OutcomeOf(const Comparison& comparison) {
  const auto differs = [](const NumberRow& row) {
    return std::ranges::any_of(row.values, [&](const auto& value) { return value != row.values.front(); });
  };
  bool has_metrics = false;
  bool is_different = !comparison.spec.empty() || std::ranges::any_of(comparison.bits, &BitsOfPair::parts);
  for (const auto& row : comparison.metrics) {
    if (MeasuresTime(row.name)) continue;
    has_metrics = true;
    is_different = is_different || differs(row);
  }
  if (is_different) return ComparisonOutcome::kDifferent;
  const auto is_compared = [](const BitsOfPair& bits) {
    return bits.compared > 0 || (bits.sums && bits.sums->steps > 0);
  };
  return has_metrics || std::ranges::all_of(comparison.bits, is_compared) ? ComparisonOutcome::kSame
                                                                          : ComparisonOutcome::kUnknown;
}

Json ToJson(const Comparison& comparison) { return WriteFields("slipway.compare/1", comparison); }

std::string Describe(const Comparison& comparison) {
  const auto& runs = comparison.runs;
  auto text = TableText(
      "spec", runs, comparison.spec, [](const SpecRow& row) { return row.key; }, WordsFor);
  const auto name_of = [](const NumberRow& row) { return row.name + " " + row.of; };
  if (!comparison.metrics.empty()) text += TableText("metric", runs, comparison.metrics, name_of, NumberText);
  if (!comparison.costs.empty()) text += TableText("cost", runs, comparison.costs, NameOfCost, CostText);
  text += TableText(
      "code and machine", runs, comparison.provenance, [](const FactDifference& row) { return row.fact; },
      [](const std::optional<std::string>& value) { return value.value_or("-"); });
  for (const auto& bits : comparison.bits) text += TextOf(runs.front(), bits);
  return text;
}

}  // namespace slipway::launcher
