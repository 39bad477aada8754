/// The shape of the torus. Pure: the selection reads it, too.
#pragma once

namespace slipway::runtime {

/// The two sides: a <= b, a x b = P, as near to each other as can be.
struct TorusSides {
  int rows = 1;     ///< a
  int columns = 1;  ///< b
};

inline TorusSides SidesOf(int members) {
  TorusSides sides{1, members};
  for (int rows = 2; rows * rows <= members; ++rows) {
    if (members % rows == 0) sides = {rows, members / rows};
  }
  return sides;
}

}  // namespace slipway::runtime
