#include "tests/bench/samplers/search_run.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/bench/measure.h"

namespace slipway::bench {
namespace {

/// What the trials of one search have shown so far.
class Tally {
 public:
  Tally(const TestFunction& function, const Task& task) : function_(function), seed_(task.seed) {}

  double Measure(ensemble::TrialNumber trial, const ensemble::Point& point) {
    const double value = function_.Measured(point, seed_, trial);
    if (value < best_) {
      best_ = value;
      regret_ = function_.Regret(point);
    }
    return value;
  }
  double regret() const { return regret_; }

 private:
  const TestFunction& function_;
  std::uint64_t seed_;
  double best_ = std::numeric_limits<double>::infinity();
  double regret_ = std::numeric_limits<double>::infinity();
};

double MedianOfLast(const std::vector<double>& seconds) {
  const auto count = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, seconds.size() / 10));
  return 1e3 * Median(std::vector<double>(seconds.end() - count, seconds.end()));
}

}  // namespace

Json ToJson(const Outcome& outcome) {
  Json regret = Json::object();
  for (const auto& [evaluations, value] : outcome.regret) regret[std::to_string(evaluations)] = value;
  return {{"regret", regret},
          {"ask_wall_ms", outcome.ask_wall_ms},
          {"ask_cpu_ms", outcome.ask_cpu_ms},
          {"total_cpu_s", outcome.total_cpu_s}};
}

Outcome OutcomeFromJson(const Json& json) {
  Outcome outcome;
  for (const auto& [evaluations, value] : json.at("regret").items()) {
    outcome.regret[std::stoi(evaluations)] = value.get<double>();
  }
  outcome.ask_wall_ms = json.at("ask_wall_ms").get<double>();
  outcome.ask_cpu_ms = json.at("ask_cpu_ms").get<double>();
  outcome.total_cpu_s = json.at("total_cpu_s").get<double>();
  return outcome;
}

std::vector<int> Marks(int evaluations) {
  std::vector<int> marks;
  for (const int mark : {50, 100, 200, 500, 1000}) {
    if (mark < evaluations) marks.push_back(mark);
  }
  marks.push_back(evaluations);
  return marks;
}

Outcome RunSearch(Searcher& searcher, const TestFunction& function, const Task& task) {
  const auto marks = Marks(task.evaluations);
  Outcome outcome;
  Tally tally(function, task);
  std::vector<double> wall, cpu;
  std::deque<ensemble::Point> open;
  for (int told = 0; told < task.evaluations; ++told) {
    while (static_cast<int>(open.size()) < task.parallel && static_cast<int>(wall.size()) < task.evaluations) {
      auto asked = searcher.Ask();
      wall.push_back(asked.wall_s);
      cpu.push_back(asked.cpu_s);
      open.push_back(std::move(asked.point));
    }
    searcher.Tell(told, tally.Measure(told, open.front()));
    open.pop_front();
    if (std::ranges::find(marks, told + 1) != marks.end()) outcome.regret[told + 1] = tally.regret();
  }
  outcome.ask_wall_ms = MedianOfLast(wall);
  outcome.ask_cpu_ms = MedianOfLast(cpu);
  outcome.total_cpu_s = std::accumulate(cpu.begin(), cpu.end(), 0.0);
  return outcome;
}

}  // namespace slipway::bench
