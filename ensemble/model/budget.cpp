#include "ensemble/model/budget.h"

#include <algorithm>
#include <limits>

namespace slipway::ensemble {

void Meter::AddNodes(int nodes, double now) {
  used_.node_seconds = Used(now).node_seconds;
  last_ = std::max(last_, now);
  nodes_ += nodes;
}

void Meter::Restart(double node_seconds, double now) {
  used_.node_seconds = node_seconds;
  last_ = std::max(last_, now);
  nodes_ = 0;
}

Usage Meter::Used(double now) const {
  // A clock that is set back does not reduce what was used.
  return {used_.wall_seconds + std::max(0.0, now - begun_), used_.node_seconds + nodes_ * std::max(0.0, now - last_)};
}

double Meter::SecondsLeft(double now) const {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  const Usage used = Used(now);
  double left = kForever;
  if (budget_.wall_seconds) left = *budget_.wall_seconds - used.wall_seconds;
  if (budget_.node_seconds) {
    const double unused = *budget_.node_seconds - used.node_seconds;
    left = std::min(left, unused <= 0 ? unused : nodes_ > 0 ? unused / nodes_ : kForever);
  }
  return left;
}

}  // namespace slipway::ensemble
