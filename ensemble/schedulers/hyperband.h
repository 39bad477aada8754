/// The scheduler `hyperband`: brackets of asha that begin to compare at different resources.
#pragma once

#include <vector>

#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// Bracket 0 has all rungs, bracket 1 lacks the lowest, ..., the last one runs every trial to its end. So a study
/// hedges against objectives whose early values mislead.
///
/// Bracket b of B with s = B - 1 - b rungs to pause at gets trials in proportion to reduction^s / (s + 1): then each
/// costs about the same when it runs through. Brackets for which the budget is too small are left out.
/// Source: Li, Jamieson, DeSalvo, Rostamizadeh, Talwalkar: "Hyperband", JMLR 18, 2018, algorithm 1; asynchronous as in
///         Li et al., MLSys 2020, section 3.
std::unique_ptr<Scheduler> MakeHyperband(const SchedulerSettings& settings);

/// The part of all trials that each of `brackets` gets; they sum to 1.
std::vector<double> BracketShares(std::size_t brackets, int reduction);

/// The same for a budget of `trials`: a bracket that would get fewer than `reduction` of them has nothing to compare
/// and gets none, the last ones first. Bracket 0 is always there.
std::vector<double> BracketSharesOf(std::int64_t trials, std::size_t brackets, int reduction);

/// The bracket of a trial: the first n trials keep to the shares within a few trials, and neighbours of the same
/// bracket lie apart. Independent of what Sobol points do at the same numbers. Source: the golden ratio's additive
/// recurrence, the most even one of its kind (Knuth, volume 3, section 6.4).
std::size_t BracketOfTrial(TrialNumber trial, const std::vector<double>& shares);

}  // namespace slipway::ensemble
