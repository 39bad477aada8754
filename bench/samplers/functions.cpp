#include "bench/samplers/functions.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/model/random.h"

namespace slipway::bench {

ensemble::SearchSpace TestFunction::Space() const { return ensemble::ParseSpace(Json::parse(space)); }

double TestFunction::Measured(const ensemble::Point& point, std::uint64_t seed, std::int64_t trial) const {
  if (noise == 0) return value(point);
  const ensemble::CounterRandom random(seed, trial, "noise");
  const double radius = std::sqrt(-2 * std::log1p(-random.Unit(0)));
  return value(point) + noise * radius * std::cos(2 * std::numbers::pi * random.Unit(1));
}

const TestFunction& FindFunction(const std::string& name) {
  std::vector<std::string> names;
  for (const auto* list : {&GoalFunctions(), &OtherFunctions()}) {
    for (const auto& function : *list) {
      if (function.name == name) return function;
      names.push_back(function.name);
    }
  }
  throw Error(ErrorKind::kUsage, fmt::format("there is no function '{}'{}", name, SuggestWord(name, names)));
}

}  // namespace slipway::bench
