/// Why a run is as it is, in words. Pure: a function of the facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "launcher/cli/explain/facts.h"

namespace slipway::launcher {

struct Explanation {
  std::string headline;              ///< "waits in the queue as job 12"
  std::vector<std::string> because;  ///< one line each
  LogEnd log;
  std::vector<std::string> next;  ///< what can be done, one line each; commands as they are typed
};

/// One that waits: in whose queue, why, and since when it is expected to start. One that runs: where. One that has
/// ended: how its ranks, its job and its trials ended, and what can be done.
Explanation Explain(const RunFacts& facts);

/// What a pattern of metrics missed, one line each; `indent` stands before each.
void AddUnmatched(const UnmatchedPattern& unmatched, std::string_view indent, Explanation& explanation);

/// `slipway.explain/1`, with the facts that programs want as numbers.
Json ToJson(const Explanation& explanation, const RunFacts& facts);
std::string Describe(const Explanation& explanation, const RunFacts& facts);

}  // namespace slipway::launcher
