#include "ensemble/search/portfolio/restarts.h"

#include <algorithm>

#include "ensemble/search/portfolio/search_runs.h"

namespace slipway::ensemble {
namespace {

constexpr TrialNumber kWholeEvery = 5;
constexpr std::uint64_t kNextSeed = 0x9E3779B97F4A7C15;  // far from any seed that a user would take, too

/// The observations of one run: its own results, numbered as if there were no others.
Observations ViewOf(const Observations& known, std::size_t run) {
  Observations view{{}, known.pending, known.failed, known.pending_origins};
  for (const auto& result : known.complete) {
    if (RunOf(result.origin) != run) continue;
    view.complete.push_back(result);
    view.complete.back().trial = static_cast<TrialNumber>(view.complete.size()) - 1;
  }
  return view;
}

/// The number of the run's next trial in its view.
TrialNumber NumberOfNext(const Observations& view, std::size_t run) {
  const auto open = std::ranges::count_if(view.pending_origins, [run](const auto& at) { return RunOf(at) == run; });
  return static_cast<TrialNumber>(view.complete.size()) + open;
}

}  // namespace

Portfolio& Restarts::BegunAnew(std::size_t run) {
  if (run_ != run) anew_ = std::make_unique<Portfolio>(encoding_, seed_ + run * kNextSeed);
  run_ = run;
  return *anew_;
}

Coordinates Restarts::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  const auto runs = ReplayRuns(known, whole_.design(), encoding_.axes());
  if (!runs.converged || trial % kWholeEvery == 0) {
    auto at = whole_.Propose(known, trial, attempt);
    origin_ = whole_.Origin();
    return at;
  }
  const auto view = ViewOf(known, runs.run);
  auto& anew = BegunAnew(runs.run);
  auto at = anew.Propose(view, NumberOfNext(view, runs.run), attempt);
  origin_ = OriginOf(anew.Origin(), runs.run);
  return at;
}

}  // namespace slipway::ensemble
