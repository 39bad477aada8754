/// How the ranks will exchange gradients, as far as that is decided before they start.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/spec/spec.h"
#include "runtime/selection/algorithm_table.h"
#include "runtime/selection/bits.h"

namespace slipway::launcher {

struct ExchangePlan {
  runtime::Placement placement;
  runtime::AlgorithmTable table = runtime::AlgorithmTable::Default({});
  std::filesystem::path tuned;  ///< absolute; the file of tuned algorithms that was read, or empty
  runtime::BitsBasis bits;
};

/// As the ranks will do it: the table that ships, tuned by the file that SLIPWAY_ALGORITHM_TABLE names (else
/// `algorithms.json` beside the user's settings, when it is there), then `gradients.algorithms`, then
/// SLIPWAY_ALGORITHMS. SLIPWAY_RANKS_PER_NODE makes smaller nodes, as it does for the ranks.
/// Errors: Error(kUsage) naming the file or variable that is wrong; SystemError for a file that cannot be read.
ExchangePlan PlanExchange(const Spec& spec);

/// For `slipway plan`.
std::string Describe(const ExchangePlan& exchange, const GradientsSpec& gradients);
/// The member `exchange` of plan.json.
Json ToJson(const ExchangePlan& exchange, const GradientsSpec& gradients);

/// What of `stored`, a member `exchange` of plan.json, gives other bits than `now`: 'algorithms was "a", now "b"'.
/// Empty when nothing does, when the spec asks for no determinism, and for documents that hold no such record.
std::vector<std::string> ChangesOfBits(const Json& stored, const ExchangePlan& now);

}  // namespace slipway::launcher
