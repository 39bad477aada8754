#include "runtime/exchange/arrivals.h"

#include <utility>

namespace slipway::runtime {

void Arrivals::Add(std::span<const int> values, StreamHandle stream) {
  if (free_.empty()) free_.emplace_back(place_);
  free_.back().Record(stream);
  coming_.push_back({std::move(free_.back()), {values.begin(), values.end()}});
  free_.pop_back();
}

std::optional<int> Arrivals::Take() {
  if (here_.empty()) {
    if (coming_.empty()) return std::nullopt;
    const InContext here(place_);
    auto& next = coming_.front();
    if (!next.made.Reached()) return std::nullopt;
    here_.assign(next.values.begin(), next.values.end());
    free_.push_back(std::move(next.made));
    coming_.pop_front();
  }
  const int value = here_.front();
  here_.pop_front();
  return value;
}

}  // namespace slipway::runtime
