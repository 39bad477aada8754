#include "launcher/run/workflow/result_store.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class Results : public testing::Test {
 protected:
  Results() {
    fs::create_directories(runs_ / ".results");
    fs::create_directories(prepared_ / "outputs");
    WriteFile(prepared_ / "outputs/data.txt", "blue");
  }

  static StepResult Made(const std::string& run) {
    StepResult result;
    result.workflow = "flow";
    result.step = "make";
    result.run = run;
    result.outputs["data"] = {"data.txt", "stamp"};
    result.values = Json::object();
    return result;
  }

  test::TempDirectory runs_;
  fs::path prepared_ = runs_ / "prepared";
};

TEST_F(Results, ArePublishedAlsoWhereTheLastOneCannotBeNoted) {
  WriteFile(runs_ / ".results/.last", "no folder");
  ResultStore store(runs_.path());
  EXPECT_FALSE(store.IsOf("flow-1", "key.1"));
  store.Publish(prepared_, "key.1", Made("flow-1"));
  EXPECT_EQ(ReadFile(runs_ / ".results/key.1/outputs/data.txt"), "blue");
  EXPECT_FALSE(fs::exists(prepared_));
  EXPECT_TRUE(store.IsOf("flow-1", "key.1"));
  EXPECT_FALSE(store.IsOf("flow-2", "key.1"));
}

TEST_F(Results, StayWhereTheyWerePreparedAfterAnError) {
  fs::remove(runs_ / ".results");
  ResultStore store(runs_.path());
  EXPECT_THROW(store.Publish(prepared_, "key.1", Made("flow-1")), SystemError);
  EXPECT_TRUE(fs::exists(prepared_ / "outputs/data.txt"));
  EXPECT_FALSE(store.IsOf("flow-1", "key.1"));
}

TEST_F(Results, OfADamagedFolderAreOfNoRun) {
  fs::create_directories(runs_ / ".results/key.1");
  WriteFile(runs_ / ".results/key.1/manifest.json", "{");
  EXPECT_FALSE(ResultStore(runs_.path()).IsOf("flow-1", "key.1"));
}

}  // namespace
}  // namespace slipway::launcher
