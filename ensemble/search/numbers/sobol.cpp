#include "ensemble/search/numbers/sobol.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/sobol.hpp>

#include "ensemble/model/random.h"

namespace slipway::ensemble {
namespace {

constexpr int kBlock = 6;  // digits scrambled by one draw: the tree below a prefix has 63 inner nodes
constexpr int kDigits = 9 * kBlock;

/// Boost gives points in the order of a Gray code and without the first: the one at 2^(k+1) - 2 is direction k.
std::vector<std::uint64_t> Directions(std::size_t dimensions) {
  std::vector<std::uint64_t> directions(dimensions * kDigits);
  if (dimensions == 0) return directions;
  boost::random::sobol engine(dimensions);
  for (int k = 0; k < kDigits; ++k) {
    engine.seed((std::uint64_t{2} << k) - 2);
    for (std::size_t d = 0; d < dimensions; ++d) directions[d * kDigits + k] = engine() >> (64 - kDigits);
  }
  return directions;
}

/// Each digit is turned over or not by a coin that belongs to all digits before it.
std::uint64_t Scrambled(std::uint64_t digits, std::uint64_t seed, const std::string& stream) {
  std::uint64_t result = 0;
  for (int done = 0; done < kDigits; done += kBlock) {
    const std::uint64_t prefix = digits >> (kDigits - done);
    const auto named = static_cast<std::int64_t>((std::uint64_t{1} << done) | prefix);
    const std::uint64_t coins = CounterRandom(seed, named, stream).Bits(0);
    for (std::uint64_t i = 1, node = 1; i <= kBlock; ++i) {
      const std::uint64_t digit = (digits >> (kDigits - done - i)) & 1;
      result = (result << 1) | (digit ^ ((coins >> node) & 1));
      node = 2 * node + digit;
    }
  }
  return result;
}

}  // namespace

ScrambledSobol::ScrambledSobol(std::uint64_t seed, std::size_t dimensions)
    : seed_(seed), directions_(Directions(std::min(dimensions, kMaxDimensions))) {
  for (std::size_t d = 0; d < dimensions; ++d) streams_.push_back(fmt::format("sobol {}", d));
}

std::uint64_t ScrambledSobol::Digits(std::uint64_t index, std::size_t dimension) const {
  std::uint64_t digits = 0;
  for (const auto* direction = &directions_[dimension * kDigits]; index != 0; index >>= 1, ++direction) {
    if ((index & 1) != 0) digits ^= *direction;
  }
  return digits;
}

double ScrambledSobol::At(std::uint64_t index, std::size_t dimension) const {
  const std::string& stream = streams_.at(dimension);
  if (dimension >= kMaxDimensions) return CounterRandom(seed_, static_cast<std::int64_t>(index), stream).Unit(0);
  return static_cast<double>(Scrambled(Digits(index, dimension), seed_, stream) >> (kDigits - 53)) * 0x1.0p-53;
}

std::vector<double> ScrambledSobol::Point(std::uint64_t index) const {
  std::vector<double> point(dimensions());
  for (std::size_t d = 0; d < point.size(); ++d) point[d] = At(index, d);
  return point;
}

}  // namespace slipway::ensemble
