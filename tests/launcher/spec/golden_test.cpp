// What `slipway validate` says about each spec in tests/launcher/golden, word for word.
// SLIPWAY_REWRITE_GOLDEN=1 writes the texts anew; read the difference before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/files.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = SLIPWAY_SOURCE_DIR "/tests/launcher/golden";

std::vector<std::string> SpecNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReplaceAll(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// Everything that the program prints for `slipway validate NAME.yaml` in the golden directory, and how it ends.
std::string WhatValidateSays(const std::string& name) {
  const TempDirectory home;
  auto environment = Environment::Inherited();
  environment.Set("XDG_CONFIG_HOME", home.path().string()).Set("SLIPWAY_TEST_WORD", "word");
  environment.Unset("SLIPWAY_TEST_IS_NOT_SET").Unset("SLIPWAY_SITE");
  SpawnOptions options;
  options.argv = {SLIPWAY_BUILD_DIR "/bin/slipway", "validate", name + ".yaml"};
  options.environment = environment;
  options.working_directory = kGolden;
  const auto said = RunAndCapture(options, std::chrono::seconds(20));
  const std::string text = said.output + said.errors + said.status.Describe() + "\n";
  return ReplaceAll(ReplaceAll(text, kGolden.string(), "<golden>"), SLIPWAY_BUILD_DIR, "<build>");
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ValidateSaysWhatTheTextFileHolds) {
  const auto file = kGolden / (GetParam() + ".txt");
  const auto said = WhatValidateSays(GetParam());
  if (std::getenv("SLIPWAY_REWRITE_GOLDEN") != nullptr) {
    WriteFile(file, said);
    GTEST_SKIP() << "rewritten: " << file;
  }
  ASSERT_TRUE(fs::exists(file)) << "no text for this spec; write it with SLIPWAY_REWRITE_GOLDEN=1";
  EXPECT_EQ(ReadFile(file), said);
}

INSTANTIATE_TEST_SUITE_P(Spec, Golden, testing::ValuesIn(SpecNames()), [](const auto& spec) { return spec.param; });

}  // namespace
}  // namespace slipway::test
