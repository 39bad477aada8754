/// Reduces P members to a power of two p. The first 2(P-p) members form pairs; the odd one of a pair stands in for
/// both.
#pragma once

#include <bit>

namespace slipway::runtime {

class Pairs {
 public:
  Pairs(int rank, int members)
      : rank_(rank),
        active_(static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))),
        rest_(members - active_) {}

  /// p, the number of those that take part.
  int active() const { return active_; }
  bool HandsOver() const { return rank_ < 2 * rest_ && rank_ % 2 == 0; }
  bool StandsIn() const { return rank_ < 2 * rest_ && rank_ % 2 == 1; }
  /// This one's place among those that take part.
  int place() const { return rank_ < 2 * rest_ ? rank_ / 2 : rank_ - rest_; }
  int MemberOf(int place) const { return place < rest_ ? 2 * place + 1 : place + rest_; }

 private:
  int rank_;
  int active_;
  int rest_;
};

}  // namespace slipway::runtime
