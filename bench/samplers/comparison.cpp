#include "bench/samplers/comparison.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/samplers/optuna_peer.h"
#include "bench/samplers/side.h"
#include "bench/samplers/statistics.h"

namespace slipway::bench {
namespace {

constexpr double kSure = 0.05;
constexpr double kFound = 1e-7;  // the smallest regret of a goal: whatever is nearer has found the minimum

struct Goal {
  const char* function;
  int evaluations;
  double regret;
};

/// Medians to reach; set from what the peer's best sampler and prototypes reached before there were samplers here.
constexpr Goal kGoals[] = {
    {"branin", 100, 1e-6},    {"branin", 200, 1e-7},    {"hartmann3", 100, 5e-6}, {"hartmann3", 200, 3e-6},
    {"hartmann6", 100, 1e-4}, {"hartmann6", 200, 1e-5}, {"ackley5", 100, 1.6},    {"ackley5", 200, 0.2},
    {"ackley10", 100, 3.3},   {"ackley10", 200, 2.4},   {"rosen5", 100, 8},       {"rosen5", 200, 1},
    {"rosen10", 100, 240},    {"rosen10", 200, 55},     {"levy10", 100, 0.8},     {"levy10", 200, 0.6},
    {"rastrigin5", 100, 15},  {"rastrigin5", 200, 10},  {"mixcond", 100, 0.045},  {"mixcond", 200, 0.025}};

std::vector<double> RegretsAt(const std::vector<Outcome>& outcomes, int mark) {
  std::vector<double> regrets;
  for (const auto& outcome : outcomes) regrets.push_back(outcome.regret.at(mark));
  return regrets;
}

double MedianOf(const std::vector<Outcome>& outcomes, double Outcome::*member) {
  std::vector<double> values;
  for (const auto& outcome : outcomes) values.push_back(outcome.*member);
  return Median(std::move(values));
}

/// Files of before do not say when a search came to its regrets.
bool TellImprovements(const std::vector<Outcome>& outcomes) {
  return std::ranges::none_of(outcomes, [](const auto& outcome) { return outcome.improvements.empty(); });
}

/// Null where half of the searches never came to it.
Json EvaluationsTo(double goal, const std::vector<Outcome>& outcomes) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> evaluations;
  for (const auto& outcome : outcomes) {
    const auto reached = outcome.EvaluationsTo(goal);
    evaluations.push_back(reached ? *reached : kNever);
  }
  const double median = Median(std::move(evaluations));
  return median < kNever ? Json(median) : Json(nullptr);
}

Json MarkRow(const std::string& function, const std::vector<Outcome>& outcomes, int mark) {
  const auto regrets = RegretsAt(outcomes, mark);
  Json row{{"evaluations", mark},
           {"q25", Quantile(regrets, 0.25)},
           {"median", Quantile(regrets, 0.5)},
           {"q75", Quantile(regrets, 0.75)}};
  for (const auto& goal : kGoals) {
    if (function != goal.function || mark != goal.evaluations) continue;
    row["goal"] = goal.regret;
    if (TellImprovements(outcomes)) row["evaluations_to_goal"] = EvaluationsTo(goal.regret, outcomes);
  }
  return row;
}

/// The median, of an even number the upper one: more than half of the searches have it.
double UpperMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Where a search comes to what another has at `mark`, both by their medians.
void AddAsGood(Json& row, const std::vector<Outcome>& outcomes, const std::vector<Outcome>& of_first, int mark) {
  if (!TellImprovements(outcomes) || !TellImprovements(of_first)) return;
  const double regret = std::max(kFound, UpperMedian(RegretsAt(of_first, mark)));
  row["evaluations_as_good"] = EvaluationsTo(regret, outcomes);
  row["evaluations_of_first"] = EvaluationsTo(regret, of_first);
}

void AddTests(Json& row, const std::vector<double>& regrets, const std::map<std::string, std::vector<Outcome>>& all) {
  row["better_than"] = Json::object();
  row["worse_than"] = Json::object();
  for (const auto& peer : PeerNames()) {
    if (!all.contains(peer)) continue;
    const auto others = RegretsAt(all.at(peer), row.at("evaluations").get<int>());
    row["better_than"][peer] = ProbabilityOfSmaller(regrets, others);
    row["worse_than"][peer] = ProbabilityOfSmaller(others, regrets);
  }
}

/// The row of a sampler at a mark, in the results of one function.
const Json* FindRow(const Json& function, const std::string& sampler, int mark) {
  for (const auto& each : function.at("samplers")) {
    if (each.at("name") != sampler) continue;
    for (const auto& row : each.at("marks")) {
      if (row.at("evaluations") == mark) return &row;
    }
  }
  return nullptr;
}

std::string BestPeer(const Json& function, int mark) {
  std::string best;
  for (const auto& peer : PeerNames()) {
    const auto* row = FindRow(function, peer, mark);
    if (row == nullptr) continue;
    if (best.empty() || row->at("median") < FindRow(function, best, mark)->at("median")) best = peer;
  }
  return best;
}

Json SummaryRow(const Json& comparison, const std::string& sampler, int mark) {
  int better_than_default = 0, better_than_best = 0, worse_than_best = 0, goals = 0, reached = 0;
  bool beside_peers = false;
  for (const auto& function : comparison) {
    const Json& row = *FindRow(function, sampler, mark);
    better_than_default += row["better_than"].value(PeerNames().front(), 1.0) < kSure;
    const auto best = BestPeer(function, mark);
    beside_peers |= !best.empty();
    better_than_best += row["better_than"].value(best, 1.0) < kSure;
    worse_than_best += row["worse_than"].value(best, 1.0) < kSure;
    goals += row.contains("goal");
    reached += row.contains("goal") && row["median"] <= row["goal"];
  }
  return {{"sampler", sampler},
          {"evaluations", mark},
          {"functions", comparison.size()},
          {"beside_peers", beside_peers},
          {"better_than_default", better_than_default},
          {"better_than_best", better_than_best},
          {"worse_than_best", worse_than_best},
          {"goals_reached", reached},
          {"goals", goals}};
}

std::string SamplerOf(const std::string& side) { return SideOf(side, 1).sampler; }

/// The first side with the same sampler; empty where it is this one.
std::string FirstOfSameSampler(const std::vector<std::string>& sides, const std::string& side) {
  const auto& first = *std::ranges::find(sides, SamplerOf(side), SamplerOf);
  return first == side ? "" : first;
}

/// Of pairs of numbers, of which either may be null.
Json RatiosOf(const std::vector<std::pair<Json, Json>>& pairs) {
  std::vector<double> ratios;
  for (const auto& [left, right] : pairs) {
    if (!left.is_null() && !right.is_null()) ratios.push_back(left.get<double>() / right.get<double>());
  }
  Json row{{"count", ratios.size()}, {"missed", pairs.size() - ratios.size()}};
  if (ratios.empty()) return row;
  row["least"] = std::ranges::min(ratios);
  row["median"] = Median(ratios);
  row["most"] = std::ranges::max(ratios);
  return row;
}

Json CostRow(const Json& comparison, const std::string& side, const std::string& beside) {
  std::vector<std::pair<Json, Json>> to_goals, to_be_as_good;
  for (const auto& function : comparison) {
    for (const auto& mark : function.at("samplers").front().at("marks")) {
      const int evaluations = mark.at("evaluations").get<int>();
      const Json& left = *FindRow(function, side, evaluations);
      const Json& right = *FindRow(function, beside, evaluations);
      if (left.contains("evaluations_to_goal") && right.contains("evaluations_to_goal")) {
        to_goals.emplace_back(left["evaluations_to_goal"], right["evaluations_to_goal"]);
      }
      if (left.contains("evaluations_as_good")) {
        to_be_as_good.emplace_back(left["evaluations_as_good"], left["evaluations_of_first"]);
      }
    }
  }
  return {{"sampler", side},
          {"beside", beside},
          {"to_goals", RatiosOf(to_goals)},
          {"to_be_as_good", RatiosOf(to_be_as_good)}};
}

}  // namespace

Json Compare(const CampaignPlan& plan, const CampaignResults& results) {
  Json functions = Json::array();
  for (const auto& name : plan.functions) {
    const auto& all = results.at(name);
    Json samplers = Json::array();
    for (const auto& sampler : plan.samplers) {
      const auto& outcomes = all.at(sampler);
      Json marks = Json::array();
      for (const int mark : Marks(plan.evaluations)) {
        marks.push_back(MarkRow(name, outcomes, mark));
        if (IsPeer(sampler)) continue;
        AddTests(marks.back(), RegretsAt(outcomes, mark), all);
        const auto first = FirstOfSameSampler(plan.samplers, sampler);
        if (!first.empty() && 2 * mark <= plan.evaluations) AddAsGood(marks.back(), outcomes, all.at(first), mark);
      }
      samplers.push_back({{"name", sampler},
                          {"ask_wall_ms", MedianOf(outcomes, &Outcome::ask_wall_ms)},
                          {"ask_cpu_ms", MedianOf(outcomes, &Outcome::ask_cpu_ms)},
                          {"total_cpu_s", MedianOf(outcomes, &Outcome::total_cpu_s)},
                          {"marks", std::move(marks)}});
    }
    functions.push_back({{"name", name}, {"samplers", std::move(samplers)}});
  }
  return functions;
}

Json Summary(const Json& comparison) {
  Json rows = Json::array();
  if (comparison.empty()) return rows;
  for (const auto& sampler : comparison.front().at("samplers")) {
    const auto name = sampler.at("name").get<std::string>();
    if (IsPeer(name)) continue;
    for (const auto& mark : sampler.at("marks")) {
      rows.push_back(SummaryRow(comparison, name, mark.at("evaluations").get<int>()));
    }
  }
  return rows;
}

Json CostOfOpenTrials(const Json& comparison) {
  Json rows = Json::array();
  if (comparison.empty()) return rows;
  std::vector<std::string> sides;
  for (const auto& sampler : comparison.front().at("samplers")) sides.push_back(sampler.at("name").get<std::string>());
  for (const auto& side : sides) {
    const auto first = FirstOfSameSampler(sides, side);
    if (!first.empty()) rows.push_back(CostRow(comparison, side, first));
  }
  return rows;
}

}  // namespace slipway::bench
