#include "ensemble/search/results/fingerprint.h"

#include "core/fnv1a.h"

namespace slipway::ensemble {
namespace {

template <class Part>
std::uint64_t Mixed(std::uint64_t hash, std::span<const Part> parts) {
  const std::uint64_t more =
      Fnv1a64({reinterpret_cast<const char*>(parts.data()), parts.size_bytes()});  // NOLINT: the bytes are meant
  return (hash ^ more) * 0x100000001b3 + parts.size();
}

std::uint64_t Mixed(std::uint64_t hash, const std::vector<Coordinates>& places) {
  for (const auto& at : places) hash = Mixed(hash, std::span<const double>(at));
  return hash + places.size();
}

}  // namespace

std::uint64_t Fingerprint(std::span<const Observation> results) {
  std::uint64_t hash = results.size();
  for (const auto& result : results) {
    hash = Mixed(hash, std::span<const TrialNumber>(&result.trial, 1));
    hash = Mixed(hash, std::span<const double>(&result.value, 1));
  }
  return hash | 1;
}

std::uint64_t Fingerprint(const Observations& known) {
  return Mixed(Mixed(Fingerprint(std::span(known.complete)), known.pending) * 3, known.failed);
}

}  // namespace slipway::ensemble
