/// A pattern on a program's output: does it compile, which groups does it name?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher {

struct PatternInfo {
  std::string error;       ///< empty when the pattern compiles
  std::size_t offset = 0;  ///< of the error, in bytes
  std::vector<std::string> names;
};

/// PCRE2 with UTF-8. Names are sorted.
PatternInfo InspectPattern(std::string_view pattern);

}  // namespace slipway::launcher
