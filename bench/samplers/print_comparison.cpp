#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/samplers/comparison.h"

namespace slipway::bench {
namespace {

double Number(const Json& row, const char* key) { return row.at(key).get<double>(); }

std::string Cell(const Json& row) {
  return fmt::format("{:.3g} [{:.2g}, {:.2g}]", Number(row, "median"), Number(row, "q25"), Number(row, "q75"));
}

void PrintHead(const Json& function) {
  const auto& first = function.at("samplers").front();
  fmt::print("{:<27}", function.at("name").get<std::string>());
  for (const auto& row : first.at("marks")) {
    fmt::print("{:<30}", fmt::format("after {}", row.at("evaluations").get<int>()));
  }
  fmt::print("{:>12}\n", "ask ms CPU");
}

bool HasGoals(const Json& sampler) {
  return std::ranges::any_of(sampler.at("marks"), [](const auto& row) { return row.contains("goal"); });
}

void PrintGoals(const Json& function) {
  const auto& first = function.at("samplers").front();
  if (!HasGoals(first)) return;
  fmt::print("  {:<25}", "(goal)");
  for (const auto& row : first.at("marks")) {
    fmt::print("{:<30}", row.contains("goal") ? fmt::format("{:g}", Number(row, "goal")) : "");
  }
  fmt::print("\n");
}

/// Empty where the row has no goal, or does not know.
std::string EvaluationsToGoal(const Json& row) {
  const auto evaluations = row.find("evaluations_to_goal");
  if (evaluations == row.end()) return "";
  return evaluations->is_null() ? "never" : fmt::format("{:.0f}", evaluations->get<double>());
}

void PrintEvaluationsToGoals(const Json& sampler) {
  if (!HasGoals(sampler)) return;
  fmt::print("    {:<23}", "evaluations to the goal");
  for (const auto& row : sampler.at("marks")) fmt::print("{:<30}", EvaluationsToGoal(row));
  fmt::print("\n");
}

void PrintTests(const Json& sampler) {
  const auto& marks = sampler.at("marks");
  if (!marks.front().contains("better_than")) return;
  for (const auto& [peer, unused] : marks.front().at("better_than").items()) {
    fmt::print("    {:<23}", "p to " + peer.substr(peer.find('-') + 1));
    for (const auto& row : marks) {
      fmt::print("{:<30}", fmt::format("{:.2g} (worse {:.2g})", row.at("better_than").at(peer).get<double>(),
                                       row.at("worse_than").at(peer).get<double>()));
    }
    fmt::print("\n");
  }
}

std::string BesidePeers(const Json& row) {
  return fmt::format(
      "of {} functions better than the peer's default on {}, than its best on {}, worse than its best on {}",
      row.at("functions").get<int>(), row.at("better_than_default").get<int>(), row.at("better_than_best").get<int>(),
      row.at("worse_than_best").get<int>());
}

std::string GoalsReached(const Json& row) {
  return fmt::format("{} of {} goals reached", row.at("goals_reached").get<int>(), row.at("goals").get<int>());
}

void PrintRatios(const std::string& sides, const char* to, const Json& ratios) {
  if (ratios.at("count") > 0) {
    fmt::print("{}: {:.2f} to {:.2f} times the evaluations {}, median {:.2f} of {}\n", sides, Number(ratios, "least"),
               Number(ratios, "most"), to, Number(ratios, "median"), ratios.at("count").get<int>());
  }
  if (ratios.at("missed") == 0) return;
  fmt::print("{}: {} times one of the two does not come {}\n", sides, ratios.at("missed").get<int>(), to);
}

}  // namespace

void PrintComparison(const Json& comparison) {
  for (const auto& function : comparison) {
    PrintHead(function);
    for (const auto& sampler : function.at("samplers")) {
      fmt::print("  {:<25}", sampler.at("name").get<std::string>());
      for (const auto& row : sampler.at("marks")) fmt::print("{:<30}", Cell(row));
      fmt::print("{:>12.2f}\n", Number(sampler, "ask_cpu_ms"));
      PrintEvaluationsToGoals(sampler);
      PrintTests(sampler);
    }
    PrintGoals(function);
  }
}

void PrintSummary(const Json& summary) {
  for (const auto& row : summary) {
    std::vector<std::string> parts;
    if (row.at("beside_peers").get<bool>()) parts.push_back(BesidePeers(row));
    if (row.at("goals") != 0) parts.push_back(GoalsReached(row));
    if (parts.empty()) continue;
    fmt::print("{} after {}: {}\n", row.at("sampler").get<std::string>(), row.at("evaluations").get<int>(),
               fmt::join(parts, "; "));
  }
}

void PrintCostOfOpenTrials(const Json& costs) {
  for (const auto& row : costs) {
    const auto sides =
        fmt::format("{} beside {}", row.at("sampler").get<std::string>(), row.at("beside").get<std::string>());
    PrintRatios(sides, "to a goal", row.at("to_goals"));
    PrintRatios(sides, "to the same median regret", row.at("to_be_as_good"));
  }
}

}  // namespace slipway::bench
