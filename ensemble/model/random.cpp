#include "ensemble/model/random.h"

#include <Random123/philox.h>

#include "core/fnv1a.h"

namespace slipway::ensemble {
namespace {

__extension__ using WideProduct = unsigned __int128;

std::uint32_t Low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t High(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::int64_t trial, std::string_view stream)
    : key_(seed ^ Fnv1a64(stream)), trial_(static_cast<std::uint64_t>(trial)) {}

std::uint64_t CounterRandom::Bits(std::uint32_t draw) const {
  const auto block = r123::Philox4x32()({{draw, 0, Low(trial_), High(trial_)}}, {{Low(key_), High(key_)}});
  return (std::uint64_t{block[1]} << 32) | block[0];
}

double CounterRandom::Unit(std::uint32_t draw) const { return static_cast<double>(Bits(draw) >> 11) * 0x1.0p-53; }

std::uint64_t CounterRandom::Below(std::uint64_t count, std::uint32_t draw) const {
  return static_cast<std::uint64_t>((WideProduct{Bits(draw)} * count) >> 64);
}

}  // namespace slipway::ensemble
