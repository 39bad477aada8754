#include "staging/generation/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "staging/generation/stage.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    Put(files_ / "source/a.tfrecord", TfrecordBytes(500, 10'000));  // two blocks
    Put(files_ / "source/b.tfrecord", TfrecordBytes(3, 100));
    staged_ = Stage(PlanFor(RequestFor(files_ / "source", files_ / "tier", DataFormat::kTfrecord)));
  }
  std::vector<BadFile> Verify() const {
    return VerifyGeneration(staged_.directory, [](Bytes, const std::string&) {});
  }

  TemporaryDirectory files_;
  StagedDataset staged_;
};

TEST_F(VerifyTest, FindsNothingInAGoodCopy) {
  Bytes done;
  EXPECT_THAT(VerifyGeneration(staged_.directory, [&](Bytes now, const std::string&) { done = now; }), IsEmpty());
  EXPECT_EQ(done, staged_.copied);
}

TEST_F(VerifyTest, NamesTheBlockOfAFlippedBit) {
  FlipBit(staged_.directory / "a.tfrecord", (4u << 20) + 5);
  const auto bad = Verify();
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].path, "a.tfrecord");
  EXPECT_EQ(bad[0].offset, 4u << 20);
  EXPECT_THAT(bad[0].reason, HasSubstr("CRC32C"));
}

TEST_F(VerifyTest, TellsTruncatedAndMissingFilesAndGoesOn) {
  fs::resize_file(staged_.directory / "a.tfrecord", 100);
  fs::remove(staged_.directory / "b.tfrecord");
  const auto bad = Verify();
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_THAT(bad[0].reason, HasSubstr("100 bytes"));
  EXPECT_THAT(bad[1].reason, HasSubstr("No such file"));
}

TEST_F(VerifyTest, CanBeStopped) {
  const auto stop = [](Bytes, const std::string&) { throw Error(ErrorKind::kInterrupted, "stop"); };
  EXPECT_THROW(VerifyGeneration(staged_.directory, stop), Error);
}

TEST_F(VerifyTest, NeedsAManifest) {
  EXPECT_THROW(VerifyGeneration(files_ / "source", [](Bytes, const std::string&) {}), Error);
}

}  // namespace
}  // namespace slipway::staging
