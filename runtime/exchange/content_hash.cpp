#include "runtime/exchange/content_hash.h"

#include <algorithm>
#include <cstring>

namespace slipway::runtime {
namespace {

/// One-to-one in the state for a given word, and in the word for a given state: so no change within one word is lost.
/// Two CRCs with different seeds would not do: they collide together.
std::uint64_t Mixed(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15u;
  return state ^ (state >> 32);
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
  // Each state waits for its last multiplication, so four of them take turns. Compilers make slow vectors of an array.
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
  auto state = Mixed(Mixed(Mixed(a, b), c), d);
  while (bytes > 0) {
    const auto taken = std::min(bytes, kWord);
    state = Mixed(state, WordAt(from, taken));
    from += taken;
    bytes -= taken;
  }
  return state;
}

}  // namespace slipway::runtime
