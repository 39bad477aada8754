#include "runtime/exchange/content_hash.h"

#include <algorithm>
#include <cstring>

namespace slipway::runtime {
namespace {

/// One-to-one in the state for a given word, and in the word for a given state: so no change within one word is lost.
/// Every bit of the word changes half of the bits: with one multiplication, flipped signs of neighbours would cancel
/// each other. Source: SplitMix64 (Steele, Lea, Flood 2014), with the constants of Stafford's Mix13.
std::uint64_t Mixed(std::uint64_t state, std::uint64_t word) {
  state ^= word;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

/// The first `bytes`, at most 8; zeros behind them.
std::uint64_t WordAt(const char* from, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

}  // namespace

std::uint64_t ContentHash(const void* data, std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto* from = static_cast<const char*>(data);
  // Each state waits for its last multiplications, so four of them take turns. Compilers make slow vectors of an array.
  std::uint64_t a = bytes;
  std::uint64_t b = 1;
  std::uint64_t c = 2;
  std::uint64_t d = 3;
  for (; bytes >= 4 * kWord; bytes -= 4 * kWord, from += 4 * kWord) {
    a = Mixed(a, WordAt(from, kWord));
    b = Mixed(b, WordAt(from + kWord, kWord));
    c = Mixed(c, WordAt(from + 2 * kWord, kWord));
    d = Mixed(d, WordAt(from + 3 * kWord, kWord));
  }
  auto state = Mixed(Mixed(Mixed(Mixed(0, a), b), c), d);
  while (bytes > 0) {
    const auto taken = std::min(bytes, kWord);
    state = Mixed(state, WordAt(from, taken));
    from += taken;
    bytes -= taken;
  }
  return state;
}

}  // namespace slipway::runtime
