#include "ensemble/model/random.h"

#include "core/fnv1a.h"

namespace slipway::ensemble {
namespace {

__extension__ using WideProduct = unsigned __int128;

std::uint32_t Low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t High(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {High(b) ^ counter[1] ^ key[0], Low(b), High(a) ^ counter[3] ^ key[1], Low(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

CounterRandom::CounterRandom(std::uint64_t seed, std::int64_t trial, std::string_view stream)
    : trial_(static_cast<std::uint64_t>(trial)) {
  const std::uint64_t mixed = seed ^ Fnv1a64(stream);
  key_ = {Low(mixed), High(mixed)};
}

std::uint64_t CounterRandom::Bits(std::uint32_t draw) const {
  const auto block = Philox4x32({draw, 0, Low(trial_), High(trial_)}, key_);
  return (std::uint64_t{block[1]} << 32) | block[0];
}

double CounterRandom::Unit(std::uint32_t draw) const { return static_cast<double>(Bits(draw) >> 11) * 0x1.0p-53; }

std::uint64_t CounterRandom::Below(std::uint64_t count, std::uint32_t draw) const {
  return static_cast<std::uint64_t>((WideProduct{Bits(draw)} * count) >> 64);
}

}  // namespace slipway::ensemble
