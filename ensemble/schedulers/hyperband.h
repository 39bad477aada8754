/// The scheduler `hyperband`: brackets of asha that begin to compare at different resources.
#pragma once

#include <vector>

#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// Bracket 0 has all rungs, bracket 1 lacks the lowest, ..., the last one runs every trial to its end. This protects a
/// study against objectives with misleading early values.
///
/// Bracket b of B has s = B - 1 - b rungs to pause at, and gets trials in proportion to reduction^s / (s + 1). Then all
/// brackets cost about the same. Brackets for which the budget is too small are left out.
/// Source: Li, Jamieson, DeSalvo, Rostamizadeh, Talwalkar: "Hyperband", JMLR 18, 2018, algorithm 1; asynchronous as in
///         Li et al., MLSys 2020, section 3.
std::unique_ptr<Scheduler> MakeHyperband(const SchedulerSettings& settings);

/// The part of all trials that each of `brackets` gets. The parts sum to 1.
std::vector<double> BracketShares(std::size_t brackets, int reduction);

/// The same for a budget of `trials`. A bracket that would get fewer than `reduction` trials cannot compare them and
/// gets none, the last bracket first. Bracket 0 is never left out.
std::vector<double> BracketSharesOf(std::int64_t trials, std::size_t brackets, int reduction);

/// The bracket of a trial. The first n trials keep to the shares within a few trials, and trials of one bracket are
/// spread evenly. Independent of the Sobol points with the same numbers.
/// Source: additive recurrence of the golden ratio, the most even one of its kind (Knuth, volume 3, section 6.4).
std::size_t BracketOfTrial(TrialNumber trial, const std::vector<double>& shares);

}  // namespace slipway::ensemble
