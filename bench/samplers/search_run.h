/// One search on one function, and its recorded outcome.
#pragma once

#include <map>
#include <optional>

#include "bench/samplers/functions.h"
#include "bench/samplers/searcher.h"
#include "core/json.h"

namespace slipway::bench {

struct Outcome {
  std::map<int, double> regret;        ///< after so many evaluations: of the point that measured best
  std::map<int, double> improvements;  ///< the same wherever another point measured best; empty in old files
  double ask_wall_ms = 0;              ///< median of the last tenth of the asks
  double ask_cpu_ms = 0;
  double total_cpu_s = 0;  ///< of all asks

  /// After how many evaluations the point that measured best first had at most this regret; none where it never had.
  std::optional<int> EvaluationsTo(double goal) const;
};

Json ToJson(const Outcome& outcome);
/// Errors: nlohmann's, when it is not one.
Outcome OutcomeFromJson(const Json& json);

/// The marks of a search: those of 50, 100, 200, 500 and 1000 below `evaluations`, and `evaluations` itself.
std::vector<int> Marks(int evaluations);

/// Keeps `task.parallel` trials open. Their results come in the order of the asks.
Outcome RunSearch(Searcher& searcher, const TestFunction& function, const Task& task);

}  // namespace slipway::bench
