#include "tests/bench/samplers/comparison.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/bench/measure.h"
#include "tests/bench/samplers/optuna_peer.h"
#include "tests/bench/samplers/side.h"
#include "tests/bench/samplers/statistics.h"

namespace slipway::bench {
namespace {

constexpr double kSure = 0.05;

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

bool IsPeer(const std::string& sampler) { return std::ranges::find(PeerNames(), sampler) != PeerNames().end(); }

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

/// The evaluations to each goal, in the order of functions and marks.
std::vector<Json> AllEvaluationsToGoals(const Json& comparison, const std::string& sampler) {
  std::vector<Json> all;
  for (const auto& function : comparison) {
    for (const auto& each : function.at("samplers")) {
      if (each.at("name") != sampler) continue;
      for (const auto& row : each.at("marks")) {
        if (row.contains("goal")) all.push_back(row.at("evaluations_to_goal"));
      }
    }
  }
  return all;
}

/// Ratios of `left` to `right` where both reach the goal.
std::vector<double> Ratios(const std::vector<Json>& left, const std::vector<Json>& right) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i].is_null() && !right[i].is_null()) ratios.push_back(left[i].get<double>() / right[i].get<double>());
  }
  return ratios;
}

Json CostRow(const Json& comparison, const std::string& side, const std::string& beside) {
  const auto evaluations = AllEvaluationsToGoals(comparison, side);
  const auto ratios = Ratios(evaluations, AllEvaluationsToGoals(comparison, beside));
  Json row{
      {"sampler", side}, {"beside", beside}, {"goals", ratios.size()}, {"missed", evaluations.size() - ratios.size()}};
  if (ratios.empty()) return row;
  row["least"] = std::ranges::min(ratios);
  row["median"] = Median(ratios);
  row["most"] = std::ranges::max(ratios);
  return row;
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
        if (!IsPeer(sampler)) AddTests(marks.back(), RegretsAt(outcomes, mark), all);
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
  std::vector<std::string> before;
  for (const auto& sampler : comparison.front().at("samplers")) {
    const auto name = sampler.at("name").get<std::string>();
    const auto of_same =
        std::ranges::find(before, SideOf(name, 1).sampler, [](auto& each) { return SideOf(each, 1).sampler; });
    if (of_same != before.end()) rows.push_back(CostRow(comparison, name, *of_same));
    before.push_back(name);
  }
  return rows;
}

}  // namespace slipway::bench
