/// Explains the state of a run in words. Pure: a function of the facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "launcher/view/run_facts.h"

namespace slipway::launcher {

struct Explanation {
  std::string headline;              ///< "waits in the queue as job 12"
  std::vector<std::string> because;  ///< one line each
  LogEnd log;
  std::vector<std::string> next;  ///< what can be done, one line each; commands as they are typed
};

/// A waiting run: its queue, the reason and the expected start. A running one: where it runs. An ended one: how its
/// ranks, job and trials ended, and what to do next.
Explanation Explain(const RunFacts& facts);

/// Adds what a pattern of metrics missed, one line each, after `indent`.
void AddUnmatched(const UnmatchedPattern& unmatched, std::string_view indent, Explanation& explanation);

/// `slipway.explain/1`, with some facts as numbers for programs.
Json ToJson(const Explanation& explanation, const RunFacts& facts);
std::string Describe(const Explanation& explanation, const RunFacts& facts);

}  // namespace slipway::launcher
