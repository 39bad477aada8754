/// Values of arrays as NumPy saves them.
#pragma once

#include <string>
#include <vector>

namespace slipway::test {

template <class Number>
std::string BytesOfValues(const std::vector<Number>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
}

}  // namespace slipway::test
