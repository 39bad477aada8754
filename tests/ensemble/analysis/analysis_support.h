/// Trials of made-up studies for the tests of the analysis.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "ensemble/model/random.h"
#include "ensemble/search/results/observations.h"
#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {

inline Encoding EncodingOf(const std::string& space) { return Encoding(ParseSpace(Json::parse(space))); }

/// `count` random trials, all complete, with the value that `objective` gives for their coordinates.
inline Observations RandomTrials(const Encoding& encoding, int count,
                                 const std::function<double(const Coordinates&)>& objective, std::uint64_t seed = 1) {
  Observations known;
  for (int trial = 0; trial < count; ++trial) {
    const CounterRandom random(seed, trial, "test");
    std::vector<double> units;
    for (std::uint32_t i = 0; i < encoding.axes().size(); ++i) units.push_back(random.Unit(i));
    const auto at = Snapped(encoding, UnitToAxes(units, encoding.axes()));
    known.complete.push_back({trial, at, objective(at), {}});
  }
  return known;
}

}  // namespace slipway::ensemble
