/// What a benchmark found: a figure, the limit and the peer beside it in the same run, and its goal.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace slipway::bench {

struct Beside {
  std::string what;
  double value = 0;         ///< in the unit of its figure
  bool is_opponent = true;  ///< a limit or a peer, which has a ratio; false: more about the same side
};

struct Figure {
  std::string part;
  std::string what;
  double value = 0;
  std::string unit;
  std::vector<Beside> beside = {};
  std::string goal = {};  ///< for people; empty: none
  bool reached = true;
};

Json ToJson(const Figure& figure);
/// One line of the figure, one for each of what stands beside it, with the ratio to limits and peers.
void Print(const Figure& figure);

}  // namespace slipway::bench
