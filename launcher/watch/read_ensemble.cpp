#include "launcher/watch/read_ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "ensemble/store/trial_book.h"
#include "launcher/view/read_curves.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr std::size_t kMostLeaders = 100;
constexpr std::size_t kMostSparks = 64;
constexpr std::size_t kPointsOfTrial = 1'000;

void Count(const TrialColumns& trials, WatchData& data) {
  std::map<std::string, int> counts;
  for (const auto& state : trials.state) ++counts[state];
  for (const auto& state : AllWords<ensemble::TrialState>()) {
    if (counts.contains(state)) data.states.emplace_back(state, counts[state]);
  }
}

void FindLeaders(const TrialColumns& trials, WatchData& data) {
  for (std::size_t row = 0; row < trials.number.size(); ++row) {
    if (trials.rank[row]) data.leaders.push_back(row);
  }
  const auto shown = std::min(kMostLeaders, data.leaders.size());
  std::ranges::partial_sort(data.leaders, data.leaders.begin() + static_cast<std::ptrdiff_t>(shown), {},
                            [&](std::size_t row) { return std::pair(*trials.rank[row], row); });
  data.leaders.resize(shown);
}

void FindRunning(const TrialColumns& trials, WatchData& data) {
  for (std::size_t row = 0; row < trials.number.size(); ++row) {
    if (IsUnderWay(trials.state[row])) data.running.push_back(row);
  }
  std::ranges::stable_sort(data.running, {}, [&](std::size_t row) -> const std::string& { return trials.place[row]; });
}

void FollowBest(const RunView& run, WatchData& data) {
  const auto& trials = *run.trials;
  if (run.objectives.empty()) return;
  std::vector<std::size_t> complete;
  for (std::size_t row = 0; row < trials.number.size(); ++row) {
    if (trials.rank[row] && trials.ended[row] && trials.value[0][row]) complete.push_back(row);
  }
  std::ranges::stable_sort(complete, {}, [&](std::size_t row) { return *trials.ended[row]; });
  for (const auto row : complete) {
    const double value = *trials.value[0][row];
    const bool is_best = data.best_so_far.empty() ||
                         ensemble::IsBetter(value, data.best_so_far.back().second, run.objectives.front().goal);
    if (is_best) data.best_so_far.emplace_back(*trials.ended[row], value);
  }
  if (!complete.empty()) data.best_so_far.emplace_back(*trials.ended[complete.back()], data.best_so_far.back().second);
}

void ReadSparks(ensemble::TrialBook& book, WatchData& data) {
  const auto& run = *data.run;
  if (run.objectives.empty()) return;
  for (std::size_t i = 0; i < std::min(kMostSparks, data.running.size()); ++i) {
    const auto row = data.running[i];
    auto& values = data.sparks[run.trials->number[row]];
    const auto& metric = run.objectives.front().metric;
    for (const auto& reported : book.Metrics(run.trials->number[row], run.trials->attempts[row], metric)) {
      values.push_back(reported.value);
    }
  }
}

void ReadTrial(ensemble::TrialBook& book, ensemble::TrialNumber trial, WatchData& data) {
  CurveSet curves(kPointsOfTrial);
  for (const auto& reported : book.Metrics(trial)) {
    curves.Add(trial, reported.name, reported.attempt,
               {static_cast<double>(reported.step), reported.value, reported.time.value_or(0)});
  }
  data.trial = TrialCurves{trial, curves.Views()};
}

}  // namespace

void Summarize(WatchData& data) {
  data.states.clear();
  data.running.clear();
  data.leaders.clear();
  data.best_so_far.clear();
  if (!data.run->trials) return;
  const auto& trials = *data.run->trials;
  Count(trials, data);
  FindRunning(trials, data);
  FindLeaders(trials, data);
  FollowBest(*data.run, data);
}

void ReadEnsemble(const RunFolder& folder, const Interest& interest, WatchData& data) {
  Summarize(data);
  data.sparks.clear();
  data.trial.reset();
  if (!data.run->trials || !data.is_whole) return;
  try {
    auto book = ensemble::TrialBook::OpenForReading(folder.path());
    ReadSparks(book, data);
    if (interest.trial) ReadTrial(book, *interest.trial, data);
  } catch (const Error&) {  // the view of the run says why
  }
}

}  // namespace slipway::launcher::watch
