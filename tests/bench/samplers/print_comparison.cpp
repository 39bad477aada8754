#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/bench/samplers/comparison.h"

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

void PrintGoals(const Json& function) {
  bool any = false;
  for (const auto& row : function.at("samplers").front().at("marks")) any = any || row.contains("goal");
  if (!any) return;
  fmt::print("  {:<25}", "(goal)");
  for (const auto& row : function.at("samplers").front().at("marks")) {
    fmt::print("{:<30}", row.contains("goal") ? fmt::format("{:g}", Number(row, "goal")) : "");
  }
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

}  // namespace

void PrintComparison(const Json& comparison) {
  for (const auto& function : comparison) {
    PrintHead(function);
    for (const auto& sampler : function.at("samplers")) {
      fmt::print("  {:<25}", sampler.at("name").get<std::string>());
      for (const auto& row : sampler.at("marks")) fmt::print("{:<30}", Cell(row));
      fmt::print("{:>12.2f}\n", Number(sampler, "ask_cpu_ms"));
      PrintTests(sampler);
    }
    PrintGoals(function);
  }
}

void PrintSummary(const Json& summary) {
  for (const auto& row : summary) {
    fmt::print(
        "{} after {}: of {} functions better than the peer's default on {}, than its best on {}, worse than its best "
        "on "
        "{}; {} of {} goals reached\n",
        row.at("sampler").get<std::string>(), row.at("evaluations").get<int>(), row.at("functions").get<int>(),
        row.at("better_than_default").get<int>(), row.at("better_than_best").get<int>(),
        row.at("worse_than_best").get<int>(), row.at("goals_reached").get<int>(), row.at("goals").get<int>());
  }
}

}  // namespace slipway::bench
