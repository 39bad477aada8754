#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace slipway::fake_gpu {

using StreamId = std::uint64_t;

/// A place in the queue of one stream; the first operation has index 1.
struct Place {
  StreamId stream = 0;
  std::uint64_t index = 0;
};

/// What happened before: for each stream, the last operation that did (a vector clock).
class Clock {
 public:
  void Join(const Clock& other) {
    for (const auto& [stream, index] : other.last_) Join(Place{stream, index});
  }
  void Join(Place place) {
    auto& last = last_[place.stream];
    last = std::max(last, place.index);
  }
  bool Covers(Place place) const {
    const auto last = last_.find(place.stream);
    return last != last_.end() && last->second >= place.index;
  }

 private:
  std::map<StreamId, std::uint64_t> last_;
};

}  // namespace slipway::fake_gpu
