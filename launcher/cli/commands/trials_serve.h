/// `slipway trials new|serve|ask|tell`: ensembles whose trials are run by another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// Makes the run folder of an ensemble and starts nothing. JSON: `slipway.trials.new/1`.
int TrialsNew(const SpecSelection& selection, Session& session);

struct TrialsServeOptions {
  std::string target = "last";  ///< a spec, which gets a run folder, or a run
  std::optional<Seconds> lost_after;
};

/// Answers requests, one JSON document a line, until `requests` (a descriptor) ends. It first prints what it serves
/// (`slipway.trials.serve/1`). It answers once the effect of a request is durable. Trials that earlier sessions gave
/// out, and that have no result, are given out again. SIGTERM and SIGINT end it cleanly, with exit status 130.
/// Errors: kBusy while another process manages the ensemble; those of the book, which end the session.
int TrialsServe(const TrialsServeOptions& options, int requests, Session& session);

struct TrialsAskOptions {
  std::string run = "last";
  /// A trial that is silent for this long is given out again; none: never.
  std::optional<Seconds> lost_after;
};

/// Takes the next trial. Waits while another command changes the trials. JSON: `slipway.trials.ask/1`. Exit status 75:
/// none may begin now; 1: the ensemble is over.
int TrialsAsk(const TrialsAskOptions& options, Session& session);

struct TrialsTellOptions {
  std::string run;
  std::int64_t trial = 0;
  std::optional<int> attempt;
  std::vector<double> values;  ///< of the objectives; empty: what was reported counts, and something must be
  std::optional<std::string> failed;
  bool pruned = false;
};

/// Reports the result of a trial that `ask` gave out. Waits as TrialsAsk. JSON: `slipway.trials.tell/1`.
/// Errors: kUsage if there is no result. Errors of both: kBusy while the run has a manager, or another command holds
/// the trials for 30 s.
int TrialsTell(const TrialsTellOptions& options, Session& session);

}  // namespace slipway::launcher
