// The targets of the fuzzer over their seeds and over what lies near them: also under sanitizers of the usual compiler.
#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

constexpr int kMutationsOfASeed = 300;

class Seeds : public ::testing::TestWithParam<Target> {
 protected:
  static void Run(const std::string& input) { GetParam().run(std::as_bytes(std::span(input))); }
};

/// One to four bytes changed, removed or inserted.
std::string Mutated(std::string input, std::mt19937& random) {
  for (auto changes = random() % 4 + 1; changes > 0 && !input.empty(); --changes) {
    const auto at = random() % input.size();
    switch (random() % 4) {
      case 0: input[at] = static_cast<char>(random()); break;
      case 1: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
      case 2: input.erase(at, random() % 8 + 1); break;
      default: input.insert(at, random() % 8 + 1, static_cast<char>(random())); break;
    }
  }
  return input;
}

TEST_P(Seeds, KeepTheirPromises) {
  for (const auto& seed : SeedsFor(GetParam().name)) Run(seed);
}

TEST_P(Seeds, KeepTheirPromisesWhenTorn) {
  for (const auto& seed : SeedsFor(GetParam().name)) {
    const auto step = seed.size() / 200 + 1;
    for (std::size_t size = 0; size < seed.size(); size += step) Run(seed.substr(0, size));
  }
}

TEST_P(Seeds, KeepTheirPromisesWhenDamaged) {
  std::mt19937 random(1);
  for (const auto& seed : SeedsFor(GetParam().name)) {
    for (int i = 0; i < kMutationsOfASeed; ++i) Run(Mutated(seed, random));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Seeds, ::testing::ValuesIn(kTargets), [](const auto& target) {
  std::string name(target.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace slipway::fuzz
