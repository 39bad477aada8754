#include "bench/ensemble/figure.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace slipway::bench {

Json ToJson(const Figure& figure) {
  Json beside = Json::array();
  for (const auto& [what, value, is_opponent] : figure.beside) {
    beside.push_back({{"what", what}, {"value", value}});
    if (is_opponent) beside.back()["ratio"] = figure.value / value;
  }
  Json document{{"part", figure.part},
                {"what", figure.what},
                {"value", figure.value},
                {"unit", figure.unit},
                {"beside", std::move(beside)}};
  if (!figure.goal.empty()) {
    document["goal"] = figure.goal;
    document["reached"] = figure.reached;
  }
  return document;
}

void Print(const Figure& figure) {
  fmt::print("{:<50}{:>10.4g} {:<9}", figure.what, figure.value, figure.unit);
  if (!figure.goal.empty()) fmt::print(" goal {}: {}", figure.goal, figure.reached ? "reached" : "missed");
  fmt::print("\n");
  for (const auto& [what, value, is_opponent] : figure.beside) {
    fmt::print("  {:<48}{:>10.4g} {:<9}", what, value, figure.unit);
    if (is_opponent) fmt::print(" ratio {:.3g}", figure.value / value);
    fmt::print("\n");
  }
}

}  // namespace slipway::bench
