// What libFuzzer calls. SLIPWAY_FUZZ_TARGET names the target.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "tests/fuzz/targets.h"

namespace {

using slipway::fuzz::Target;

const Target& ChosenTarget() {
  const char* name = std::getenv("SLIPWAY_FUZZ_TARGET");
  for (const auto& target : slipway::fuzz::kTargets) {
    if (name != nullptr && target.name == name) return target;
  }
  std::cerr << "set SLIPWAY_FUZZ_TARGET to one of:";
  for (const auto& target : slipway::fuzz::kTargets) std::cerr << ' ' << target.name;
  std::cerr << '\n';
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target& target = ChosenTarget();
  target.run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
