/// What differs between runs: spec, results, costs, code and machine. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/words.h"
#include "launcher/provenance/differences.h"
#include "launcher/view/compare_sums.h"
#include "launcher/view/run_view.h"
#include "launcher/view/spec_rows.h"

namespace slipway::launcher {

/// Exact values of a single run: step -> metric -> value. A step that a later attempt repeats has its value.
using StepValues = std::map<std::int64_t, std::map<std::string, double>>;

struct ComparedRun {
  RunView view;
  Json plan;  ///< plan.json; null: it could not be read
  StepValues values = {};
  std::optional<SumsOfPair> sums = {};  ///< with the first run; nothing: neither has check sums
};

struct NumberRow {
  std::string name;  ///< "loss"; of costs "nodes"
  std::string of;    ///< "last", "lowest", "highest", "best"; of costs the unit
  std::vector<std::optional<double>> values;
};

/// The first value that is not the same.
struct Parting {
  std::int64_t step = 0;
  std::string metric;
  double first = 0;  ///< of the first run; may be NaN or infinite
  double other = 0;
};

/// Whether a run should have had the same bits as the first one, and had.
struct BitsOfPair {
  std::string run;
  bool expected = false;
  std::vector<std::string> reasons;  ///< why not, if it is not expected
  std::uint64_t compared = 0;        ///< values of the same step and metric
  std::optional<Parting> parting;
  std::vector<std::string> left_out;  ///< metrics that measure time
  std::optional<SumsOfPair> sums;     ///< nothing: neither run has check sums

  bool parts() const { return parting || (sums && sums->parting); }
};

struct Comparison {
  std::vector<std::string> runs;
  std::vector<SpecRow> spec;  ///< what differs; without secrets
  std::vector<NumberRow> metrics;
  std::vector<NumberRow> costs;
  std::vector<FactDifference> provenance;  ///< what differs
  std::vector<BitsOfPair> bits;            ///< one for each run but the first
  std::vector<std::string> warnings;
};

/// What a comparison found, in one word. The words are those of `slipway -q compare`.
enum class ComparisonOutcome {
  kSame,       ///< specs, metrics and sums
  kDifferent,  ///< a field of the spec, a metric or a sum of any pair
  kUnknown     ///< the specs are the same, and a pair has neither metrics nor sums in common
};
WordTable<ComparisonOutcome> WordsOf(ComparisonOutcome);

/// Metrics of time are left out.
ComparisonOutcome OutcomeOf(const Comparison& comparison);

/// Cost: linear in the values.
Comparison Compare(std::span<const ComparedRun> runs);

/// Whether a metric measures time or speed, by its name: such values never repeat.
bool MeasuresTime(std::string_view metric);

/// `slipway.compare/1`.
Json ToJson(const Comparison& comparison);
/// Tables for a terminal.
std::string Describe(const Comparison& comparison);

}  // namespace slipway::launcher
