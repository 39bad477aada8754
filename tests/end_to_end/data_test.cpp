// Data on its way to the ranks: staged, checked, refused, left behind by nobody.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/flip_bit.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kData =
    "data:\n"
    "  train: {source: 'data/train-*.tfrecord', tier: [ram]}\n";
constexpr auto kShowsItsData = "[sh, -c, 'ls $SLIPWAY_DATA_TRAIN']";

/// A workplace with the first images of Fashion-MNIST as TFRecord shards.
class Data : public testing::Test {
 protected:
  static constexpr auto kImages = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  static constexpr auto kLabels = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";

  void SetUp() override {
    fs::create_directory(place_ / "data");
    const auto converted = place_.Slipway({"data", "convert", "--images", kImages, "--labels", kLabels, "--to",
                                           "tfrecord", "--shards", "2", "data/train"});
    ASSERT_EQ(converted.status.code, 0) << converted.errors;
  }

  fs::path Shard() const { return place_ / "data/train-00000-of-00002.tfrecord"; }

  Workplace place_;
};

TEST_F(Data, IsStagedForTheRanksAndRemovedAfterTheRun) {
  place_.WriteSpec("exp.yaml", kShowsItsData, 2, kData);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("[1] manifest.json"));
  EXPECT_THAT(ran.output, HasSubstr("[1] train-00001-of-00002.tfrecord"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(Data, IsNamedInTheArgumentsOfAProgram) {
  const std::string args = "  args: {data-dir: '{slipway.data.train}/'}\n";
  place_.WriteSpec("exp.yaml", "[sh, -c, 'ls $2; test $2 = $SLIPWAY_DATA_TRAIN/', sh]", 1, args + kData);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("train-00001-of-00002.tfrecord"));
  const auto refused = [&](const std::string& change) {
    const auto said = place_.Slipway({"validate", "exp.yaml", "--set", change});
    EXPECT_EQ(said.status.code, 2) << change;
    return said.errors;
  };
  EXPECT_THAT(refused("train.args.data-dir=\"{slipway.data.trian}\""), HasSubstr("did you mean 'slipway.data.train'?"));
  EXPECT_THAT(refused("data.train.distribute=node-shard"), HasSubstr("another folder on each node"));
  EXPECT_THAT(refused("launch.workdir=\"{slipway.data.train}\""), HasSubstr("cannot name the working directory"));
}

TEST_F(Data, IsAdoptedByTheNextRunWhenItIsKept) {
  place_.WriteSpec("exp.yaml", kShowsItsData, 1, kData);
  const std::vector<std::string> run{"run", "exp.yaml", "--set", "data.train.keep=cache"};
  EXPECT_THAT(place_.Slipway(run).errors, HasSubstr("tier ram"));
  EXPECT_THAT(place_.Slipway(run).errors, HasSubstr("staged train: already there"));
}

TEST_F(Data, IsReadInPlaceWithTierNone) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'head -c 8 $SLIPWAY_DATA_TRAIN/train-00000-of-00002.tfrecord | wc -c']", 1,
                   kData);
  const auto ran = place_.Slipway({"run", "exp.yaml", "--no-prefix", "--set", "data.train.tier=none"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, testing::StartsWith("8\n"));
}

TEST_F(Data, IsRefusedWhenMissing) {
  place_.WriteSpec("exp.yaml", kShowsItsData, 1, "data: {train: {source: 'nowhere/*.tfrecord'}}");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("nowhere"));
  EXPECT_FALSE(fs::exists(place_ / "runs"));
}

TEST_F(Data, IsRefusedWhenTruncatedAndNothingIsPublished) {
  fs::resize_file(Shard(), fs::file_size(Shard()) - 10);
  place_.WriteSpec("exp.yaml", "[touch, started]", 1, kData);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("train-00000-of-00002.tfrecord"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
  EXPECT_FALSE(fs::exists(place_ / "started"));
  EXPECT_EQ(place_.Status()["phase"], "failed");
}

TEST_F(Data, IsRefusedWhenABitIsFlipped) {
  FlipBit(Shard(), 500);
  place_.WriteSpec("exp.yaml", "[touch, started]", 1, kData);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("record 0"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
  EXPECT_FALSE(fs::exists(place_ / "started"));
  EXPECT_EQ(place_.Slipway({"data", "verify", "data"}).status.code, 1);
}

TEST_F(Data, IsRefusedByATierThatIsTooSmall) {
  if (::geteuid() != 0 || ::mount("none", (place_ / "ram").c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "needs the right to mount a small file system";
  }
  place_.WriteSpec("exp.yaml", "[touch, started]", 1, kData);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ::umount((place_ / "ram").c_str());
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("ram"));
  EXPECT_FALSE(fs::exists(place_ / "started"));
}

TEST_F(Data, IsLeftWholeOrNotAtAllWhenStagingIsInterrupted) {
  place_.WriteSpec("exp.yaml", kShowsItsData, 1, kData);
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const int milliseconds : {2, 6, 10, 14, 20}) {
      auto run = place_.Start({"run", "exp.yaml"});
      ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
      run.Signal(signal);
      run.Wait();
    }
  }
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

}  // namespace
}  // namespace slipway::test
