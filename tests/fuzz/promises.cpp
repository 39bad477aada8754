#include <cstdlib>
#include <iostream>

#include "core/error.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {

void Try(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    FuzzRequire(!error.message().empty(), "an error says something");
  }
}

void FuzzRequire(bool promise, std::string_view what) {
  if (promise) return;
  std::cerr << "broken promise: " << what << '\n';
  std::abort();
}

}  // namespace slipway::fuzz
