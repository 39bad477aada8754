// What `slipway validate` says about wrong specs, word for word: tests/launcher/golden/NAME.yaml and NAME.txt.
// SLIPWAY_REWRITE_GOLDEN=1 writes the .txt files anew; read the difference before committing it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "core/process.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

const fs::path kFolder = SLIPWAY_SOURCE_DIR "/tests/launcher/golden";

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Validate(const std::string& name) {
  SpawnOptions options;
  options.argv = {SLIPWAY_BUILD_DIR "/bin/slipway", "validate", name + ".yaml"};
  options.working_directory = kFolder;
  options.environment = Environment::Inherited().Set("XDG_CONFIG_HOME", "/nonexistent").Unset("SLIPWAY_TEST_UNSET");
  const auto captured = RunAndCapture(options);
  auto said = fmt::format("{}{}exit status {}\n", captured.output, captured.errors, captured.status.ShellCode());
  for (auto at = said.find(kFolder.string()); at != std::string::npos; at = said.find(kFolder.string())) {
    said.replace(at, kFolder.string().size(), "FOLDER");
  }
  return said;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, SaysTheSame) {
  const auto said = Validate(GetParam());
  const auto file = kFolder / (GetParam() + ".txt");
  if (std::getenv("SLIPWAY_REWRITE_GOLDEN") != nullptr) {
    WriteFile(file, said, 0644);
    GTEST_SKIP() << "rewritten";
  }
  EXPECT_EQ(said, ReadFileIfPresent(file).value_or("(no golden file)"));
}

INSTANTIATE_TEST_SUITE_P(Spec, Golden, testing::ValuesIn(Names()), [](const auto& test) {
  auto name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace slipway::launcher
