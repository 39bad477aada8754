#include "ensemble/samplers/random_sampler.h"

#include <algorithm>
#include <cmath>

#include "ensemble/random.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kRedraws = 64;

Scalar DrawInteger(const IntDomain& range, const CounterRandom& random, std::uint32_t draw) {
  const std::uint64_t low = static_cast<std::uint64_t>(range.low);
  const std::uint64_t count = static_cast<std::uint64_t>(range.high) - low + 1;
  // A count of 0 stands for all 2^64 integers.
  const std::uint64_t offset = count == 0 ? random.Bits(draw) : random.Below(count, draw);
  return static_cast<std::int64_t>(low + offset);
}

double DrawLog(const LogDomain& range, double unit) {
  const double low = std::log(range.low);
  return std::clamp(std::exp(low + unit * (std::log(range.high) - low)), range.low, range.high);
}

double DrawUniform(const UniformDomain& range, double unit) {
  return std::clamp(range.low + unit * (range.high - range.low), range.low, range.high);
}

Scalar DrawValue(const Domain& domain, const CounterRandom& random, std::uint32_t draw) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) {
    return choice->values[random.Below(choice->values.size(), draw)];
  }
  if (const auto* fixed = std::get_if<FixedDomain>(&domain)) return fixed->value;
  if (const auto* range = std::get_if<IntDomain>(&domain)) return DrawInteger(*range, random, draw);
  if (const auto* log = std::get_if<LogDomain>(&domain)) return DrawLog(*log, random.Unit(draw));
  return DrawUniform(std::get<UniformDomain>(domain), random.Unit(draw));
}

}  // namespace

RandomSampler::RandomSampler(SearchSpace space, std::uint64_t seed) : space_(std::move(space)), seed_(seed) {}

Point RandomSampler::Draw(TrialNumber trial, std::uint32_t draw) const {
  Point point;
  for (const auto& parameter : space_.parameters()) {
    if (!IsActive(parameter, point)) continue;
    const CounterRandom random(seed_, trial, parameter.name);
    point.emplace_back(parameter.name, DrawValue(parameter.domain, random, draw));
  }
  return point;
}

std::optional<Point> RandomSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  Point point = Draw(trial, 0);
  for (std::uint32_t draw = 1; draw <= kRedraws && earlier.ContainsConfiguration(ConfigurationHash(point)); ++draw) {
    point = Draw(trial, draw);
  }
  return point;
}

}  // namespace slipway::ensemble
