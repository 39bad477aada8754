// The experiments that come with Slipway: each is valid and can be planned, on data of the form that it names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

const fs::path kConfigs = SLIPWAY_SOURCE_DIR "/configs";
const fs::path kGolden = SLIPWAY_SOURCE_DIR "/tests/end_to_end/golden";

std::set<fs::path> AllConfigs() {
  std::set<fs::path> all;
  for (const auto& entry : fs::directory_iterator(kConfigs)) {
    if (entry.path().extension() == ".yaml") all.insert(entry.path());
  }
  return all;
}

/// A few records of each kind, under the names that the experiments look for.
class Configs : public testing::Test {
 protected:
  Configs() {
    place_.SetVariable("SLIPWAY_DATA_ROOT", (place_ / "data").string());
    for (const auto* name : {"hepcnn", "hepcnn224"}) Make("hepcnn", name);
    for (const auto* name : {"cosmoflow", "cosmoflow128", "fashion"}) Make("cosmoflow", name);
    for (const auto* name : {"pictures", "imagenet"}) Make("imagenet-like", name);
    fs::rename(place_ / "data/imagenet/test-00000-of-00001.tfrecord",
               place_ / "data/imagenet/validation-00000-of-00001");
    place_.Write("data/fashion/test.h5", ReadFile(place_ / "data/hepcnn/test-00000-of-00001.h5"));
  }

  void Make(const std::string& kind, const std::string& name) const {
    const auto made = place_.Slipway(
        {"data", "make", kind, "--train", "4", "--test", "2", "--size", "32", "--shards", "1", "data/" + name});
    ASSERT_EQ(made.status.code, 0) << made.errors;
  }

  Workplace place_;
};

TEST_F(Configs, AreValidAndCanBePlanned) {
  EXPECT_GE(AllConfigs().size(), 6U);
  for (const auto& config : AllConfigs()) {
    const auto checked = place_.Slipway({"validate", config.string()});
    EXPECT_EQ(checked.status.code, 0) << config << checked.errors;
    EXPECT_THAT(checked.errors, testing::Not(HasSubstr("warning"))) << config;
    const auto planned = place_.Slipway({"plan", config.string()});
    EXPECT_EQ(planned.status.code, 0) << config << planned.errors;
  }
}

std::string Without(std::string text, const std::string& what, const std::string& instead) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + instead.size())) {
    text.replace(at, what.size(), instead);
  }
  return text;
}

/// golden/cosmoflow-cori.sh; SLIPWAY_REWRITE_GOLDEN=1 writes it anew.
TEST_F(Configs, CosmoflowOnCoriSubmitsWhatIsRecorded) {
  const auto planned = place_.Slipway({"plan", (kConfigs / "cosmoflow-cori.yaml").string(), "--json"});
  ASSERT_EQ(planned.status.code, 0) << planned.errors;
  auto script = Json::parse(planned.output)["script"].get<std::string>();
  script = Without(Without(script, (place_ / "").parent_path().string(), "PLACE"), SLIPWAY_BUILD_DIR, "PREFIX");
  const auto golden = kGolden / "cosmoflow-cori.sh";
  if (std::getenv("SLIPWAY_REWRITE_GOLDEN") != nullptr) {
    WriteFile(golden, script, 0644);
    GTEST_SKIP() << "rewritten";
  }
  EXPECT_EQ(script, ReadFile(golden));
}

/// What the original runs had: all of it is in the batch script or in what the ranks are told.
TEST_F(Configs, OfCoriStageBurstBufferOnKnlAndDelayGradients) {
  for (const auto* name : {"cosmoflow-cori", "hepcnn-cori", "resnet50-cori"}) {
    const auto planned = place_.Slipway({"plan", (kConfigs / name).string() + ".yaml", "--json"});
    ASSERT_EQ(planned.status.code, 0) << planned.errors;
    const auto plan = Json::parse(planned.output);
    EXPECT_EQ(plan["engine"], "slurm") << name;
    const auto script = plan["script"].get<std::string>();
    for (const auto* part :
         {"#SBATCH --constraint=knl", "#DW jobdw type=scratch access_mode=striped", "#DW stage_in"}) {
      EXPECT_THAT(script, HasSubstr(part)) << name;
    }
    EXPECT_EQ(plan["spec"]["gradients"]["mode"], "delayed") << name;
    EXPECT_EQ(plan["data"][0]["tier"], "burst") << name;
  }
}

}  // namespace
}  // namespace slipway::test
