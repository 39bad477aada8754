#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "bench/ensemble/noop_runner.h"
#include "bench/ensemble/parts.h"
#include "bench/measure.h"
#include "core/error.h"
#include "ensemble/samplers/sampler.h"

namespace slipway::bench {
namespace {

using ensemble::TrialRecord;
using ensemble::TrialTable;

constexpr std::array kMarks = {200, 1000, 10000};
constexpr int kAsks = 9;

TrialRecord Complete(ensemble::TrialNumber number, ensemble::Point point) {
  TrialRecord trial;
  trial.number = number;
  trial.state = ensemble::TrialState::kComplete;
  trial.configuration = ensemble::ConfigurationHash(point);
  trial.parameters = std::move(point);
  double loss = 0;
  for (const auto& [name, value] : trial.parameters) loss += std::pow(std::get<double>(value) - 0.3, 2);
  trial.objective = loss;
  return trial;
}

ensemble::SamplerSettings SettingsOf(const std::string& name, int trials) {
  ensemble::SamplerSettings settings;
  settings.name = name;
  settings.trials = trials + kAsks + 1;
  settings.goal = ensemble::Goal::kMinimize;
  return settings;
}

/// As a search would have left them: half of the trials anywhere, half near the best point.
TrialTable TableOf(int trials, const ensemble::SearchSpace& space) {
  const auto anywhere = ensemble::MakeSampler(SettingsOf("random", trials), space);
  TrialTable table;
  for (int i = 0; i < trials; ++i) {
    auto point = anywhere->Ask(i, table).value();
    for (auto& [name, value] : point) {
      if (i % 2 == 1) value = 0.3 + 0.1 * (std::get<double>(value) - 0.3);
    }
    table.Add(Complete(i, std::move(point)));
  }
  return table;
}

struct AskTimes {
  double first;    ///< as after a resume: the sampler learns all rows
  double median;   ///< of those that follow, each after one more result
  double slowest;  ///< of these
};

AskTimes Measure(const std::string& name, const ensemble::SearchSpace& space, TrialTable table) {
  const auto sampler = ensemble::MakeSampler(SettingsOf(name, static_cast<int>(table.size())), space);
  std::vector<double> times;
  for (int i = 0; i <= kAsks; ++i) {
    std::optional<ensemble::Point> point;
    times.push_back(SecondsOf([&] { point = sampler->Ask(table.size(), table); }) * 1e3);
    if (!point)
      throw Error(ErrorKind::kFailed, fmt::format("the sampler '{}' has no point left", name),
                  "choose a sampler that does not run out of points");
    table.Add(Complete(table.size(), std::move(*point)));
  }
  const double first = times.front();
  times.erase(times.begin());
  return {first, Median(times), *std::ranges::max_element(times)};
}

std::optional<double> GoalOf(const std::string& sampler, int trials) {
  if (sampler == "tpe" && trials == 10000) return 10;
  if (sampler == "auto" && trials == 200) return 50;
  return std::nullopt;
}

}  // namespace

std::vector<Figure> MeasureAsk(const PartOptions&) {
  const auto space = TenParameters(1, 1).space;
  std::vector<Figure> figures;
  for (const int trials : kMarks) {
    const auto table = TableOf(trials, space);
    for (const auto& name : ensemble::SamplerNames()) {
      if (name == "grid") continue;  // it does not search: its points are counted off
      const auto times = Measure(name, space, table);
      Figure figure{"ask", fmt::format("{} after {} trials", name, trials), times.median, "ms"};
      figure.beside = {{"its first ask after a resume", times.first, false},
                       {"its slowest other ask", times.slowest, false}};
      if (const auto goal = GoalOf(name, trials)) {
        figure.goal = fmt::format("<= {:g}", *goal);
        figure.reached = times.median <= *goal;
      }
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace slipway::bench
