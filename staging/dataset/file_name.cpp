#include "staging/dataset/file_name.h"

#include <algorithm>

namespace slipway::staging {

bool StaysInside(const std::filesystem::path& name) {
  return !name.empty() && name.is_relative() && std::ranges::find(name, std::filesystem::path("..")) == name.end();
}

}  // namespace slipway::staging
