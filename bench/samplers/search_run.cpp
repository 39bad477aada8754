#include "bench/samplers/search_run.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/measure.h"

namespace slipway::bench {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

/// What the trials of one search have shown so far.
class Tally {
 public:
  Tally(const TestFunction& function, const Task& task) : function_(function), seed_(task.seed) {}

  double Measure(ensemble::TrialNumber trial, const ensemble::Point& point) {
    const double value = function_.Measured(point, seed_, trial);
    if (value < best_) {
      best_ = value;
      improvements_[static_cast<int>(trial) + 1] = function_.Regret(point);
    }
    return value;
  }
  /// Infinite before anything was better than that.
  double regret() const { return improvements_.empty() ? kNothing : improvements_.rbegin()->second; }
  const std::map<int, double>& improvements() const { return improvements_; }

 private:
  const TestFunction& function_;
  std::uint64_t seed_;
  double best_ = kNothing;
  std::map<int, double> improvements_;
};

double MedianOfLast(const std::vector<double>& seconds) {
  const auto count = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, seconds.size() / 10));
  return 1e3 * Median(std::vector<double>(seconds.end() - count, seconds.end()));
}

Json RegretsToJson(const std::map<int, double>& regrets) {
  Json json = Json::object();
  for (const auto& [evaluations, value] : regrets) json[std::to_string(evaluations)] = value;
  return json;
}

std::map<int, double> RegretsFromJson(const Json& json) {
  std::map<int, double> regrets;
  for (const auto& [evaluations, value] : json.items()) regrets[std::stoi(evaluations)] = value.get<double>();
  return regrets;
}

}  // namespace

std::optional<int> Outcome::EvaluationsTo(double goal) const {
  const auto reached = std::ranges::find_if(improvements, [&](const auto& each) { return each.second <= goal; });
  return reached == improvements.end() ? std::nullopt : std::optional(reached->first);
}

Json ToJson(const Outcome& outcome) {
  return {{"regret", RegretsToJson(outcome.regret)},
          {"improvements", RegretsToJson(outcome.improvements)},
          {"ask_wall_ms", outcome.ask_wall_ms},
          {"ask_cpu_ms", outcome.ask_cpu_ms},
          {"total_cpu_s", outcome.total_cpu_s}};
}

Outcome OutcomeFromJson(const Json& json) {
  Outcome outcome;
  outcome.regret = RegretsFromJson(json.at("regret"));
  outcome.improvements = RegretsFromJson(json.value("improvements", Json::object()));
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
  outcome.improvements = tally.improvements();
  outcome.ask_wall_ms = MedianOfLast(wall);
  outcome.ask_cpu_ms = MedianOfLast(cpu);
  outcome.total_cpu_s = std::accumulate(cpu.begin(), cpu.end(), 0.0);
  return outcome;
}

}  // namespace slipway::bench
