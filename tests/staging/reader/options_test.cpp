#include <gmock/gmock.h>

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/share_list.h"
#include "staging/reader/batch_options.h"
#include "tests/staging/formats_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;

TEST(BatchOptionsText, SaysEverything) {
  const auto options = ParseBatchOptions(
      R"({"fields": ["label", {"name": "image", "type": "uint8", "shape": [28, 28], "transforms": [{"op": "flip"}]}],
          "payloads": true, "batch": 64, "limit": 500, "seed": 18446744073709551615, "order": "windowed", "window": 100,
          "split": {"fraction": 0.1, "seed": 2, "part": "validation"}, "rank": 1, "world": 4,
          "shares": {"nodes": [{"records": 10, "ranks": 2}, {"records": 12}], "node": 1}, "remainder": "pad",
          "on_corrupt": "skip", "epochs": 3, "position": {"epoch": 1, "records_done": 128}, "threads": 7,
          "prefetch": 9})",
      {});
  ASSERT_EQ(options.fields.size(), 2u);
  EXPECT_EQ(options.fields[0].name, "label");
  EXPECT_EQ(options.fields[1].shape, (Shape{28, 28}));
  EXPECT_EQ(options.fields[1].transforms.size(), 1u);
  EXPECT_TRUE(options.payloads);
  EXPECT_EQ(options.limit, 500u);
  EXPECT_EQ(options.seed, ~std::uint64_t{0});
  EXPECT_EQ(options.order, RecordOrder::kWindowed);
  EXPECT_TRUE(options.split->validation);
  EXPECT_EQ(options.shares->nodes[0].ranks, 2);
  EXPECT_EQ(options.shares->nodes[1].records, 12u);
  EXPECT_EQ(options.remainder, Remainder::kPad);
  EXPECT_EQ(options.on_corrupt, OnCorrupt::kSkip);
  EXPECT_EQ(options.position, (EpochPosition{1, 128}));
  EXPECT_EQ(options.threads, 7);
  EXPECT_EQ(options.prefetch, 9u);
}

TEST(BatchOptionsText, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](const std::string& text) { return ErrorOf([&] { ParseBatchOptions(text, {}); }).message(); };
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"batch_size": 3})"), HasSubstr("unknown key 'batch_size'; known here: batch, epochs"));
  EXPECT_THAT(refusal(R"({"batch": 0})"), HasSubstr("'batch' is 0"));
  EXPECT_THAT(refusal(R"({"batch": -1})"), HasSubstr("'batch' is -1: expected a whole number"));
  EXPECT_THAT(refusal(R"({"remainder": "keep"})"), HasSubstr("one of drop, repeat, pad"));
  EXPECT_THAT(refusal(R"({"threads": 1e9})"), HasSubstr("'threads'"));
  EXPECT_THAT(refusal(R"({"fields": [{"name": "x", "shape": [0]}]})"), HasSubstr("extents of at least 1"));
  EXPECT_THAT(refusal(R"({"fields": [{"name": "x", "transforms": [{}]}]})"), HasSubstr("transform 0 has no 'op'"));
  EXPECT_THAT(refusal(R"({"shares": {"nodes": [], "node": 0}})"), HasSubstr("list of nodes"));
  EXPECT_THAT(refusal(R"({"position": {"epoch": 1}})"), HasSubstr("has no 'records_done'"));
}

TEST(PositionText, IsReadBack) {
  const EpochPosition position{3, 1234567890123};
  EXPECT_EQ(ParsePosition(PositionText(position)), position);
  const EpochPosition of_shares{3, 1234, 0x0abcdef1};
  EXPECT_EQ(PositionText(of_shares), R"({"epoch": 3, "records_done": 1234, "shares": "0abcdef1"})");
  EXPECT_EQ(ParsePosition(PositionText(of_shares)), of_shares);
  EXPECT_THROW(ParsePosition(R"({"epoch": 1, "records_done": 0, "shares": "x"})"), Error);
  EXPECT_THROW(ParsePosition("3"), Error);
  EXPECT_THROW(ParsePosition(R"({"epoch": -1, "records_done": 0})"), Error);
}

/// Sets variables until its end.
class Variables {
 public:
  ~Variables() {
    for (const auto& name : names_) ::unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }

 private:
  std::vector<std::string> names_;
};

TEST(FindDataset, TakesWhatTheLauncherSays) {
  Variables variables;
  variables.Set("SLIPWAY_DATA_MY_TRAIN", "/staged/train");
  variables.Set("RANK", "3");
  variables.Set("WORLD_SIZE", "8");
  variables.Set(
      "SLIPWAY_CONFIG",
      R"({"gradients": {}, "data": {"my-train": {"remainder": "pad", "on_corrupt": "skip", "overlap": true}}})");
  const auto place = FindDataset("my-train");
  EXPECT_EQ(place.path, "/staged/train");
  EXPECT_EQ(place.defaults.rank, 3);
  EXPECT_EQ(place.defaults.world, 8);
  EXPECT_EQ(place.defaults.remainder, Remainder::kPad);
  EXPECT_EQ(place.defaults.on_corrupt, OnCorrupt::kSkip);
  EXPECT_EQ(FindDataset("./my-train").path, "./my-train");
  EXPECT_EQ(FindDataset("test").path, "test");
  EXPECT_EQ(FindDataset("test").defaults.remainder, Remainder::kDrop);
}

TEST(FindDataset, ARankOfSharesCountsOnItsNode) {
  Variables variables;
  variables.Set("RANK", "5");
  variables.Set("WORLD_SIZE", "8");
  variables.Set("LOCAL_RANK", "1");
  const auto place = FindDataset("x");
  const auto rank_of = [&](const std::string& text) {
    return ParseBatchOptions(text, place.defaults, place.local_rank).rank;
  };
  EXPECT_EQ(rank_of("{}"), 5);
  const std::string shares =
      R"("shares": {"nodes": [{"records": 9, "ranks": 4}, {"records": 8, "ranks": 4}], "node": 1})";
  EXPECT_EQ(rank_of("{" + shares + "}"), 1);
  EXPECT_EQ(rank_of("{" + shares + R"(, "rank": 3})"), 3);
}

/// A rank of the second of two nodes.
class ShareOfNode : public testing::Test {
 protected:
  ShareOfNode() {
    WriteFile(directory_ / "shares.json",
              RenderShareList({{"n1", "/tier/train-a", 9, 2}, {"n2", "/tier/train-b", 8, 2}}));
    variables_.Set("SLIPWAY_DATA_TRAIN", "/tier/train-b");
    variables_.Set("SLIPWAY_SHARES_TRAIN", directory_ / "shares.json");
    variables_.Set("RANK", "3");
    variables_.Set("WORLD_SIZE", "4");
    variables_.Set("LOCAL_RANK", "1");
  }

  static BatchOptions OptionsOf(const std::string& text) {
    const auto place = FindDataset("train");
    return ParseBatchOptions(text, place.defaults, place.local_rank);
  }

  test::TempDirectory directory_;
  Variables variables_;
};

TEST_F(ShareOfNode, IsTheOneInItsDirectory) {
  for (const char* text : {"{}", R"({"rank": 3, "world": 4})"}) {
    const auto options = OptionsOf(text);
    ASSERT_TRUE(options.shares);
    EXPECT_EQ(options.shares->node, 1u);
    EXPECT_EQ(options.shares->nodes[0].records, 9u);
    EXPECT_EQ(options.shares->nodes[1].ranks, 2);
    EXPECT_EQ(options.rank, 1);
  }
  EXPECT_EQ(OptionsOf(R"({"shares": {"nodes": [{"records": 5}], "node": 0}})").shares->nodes.size(), 1u);
  BatchOptions options;
  TakeShare(FindDataset("train"), options);
  EXPECT_EQ(options.rank, 1);
  EXPECT_FALSE(FindDataset("/tier/train-b").defaults.shares) << "a path is what the program says it is";
}

TEST_F(ShareOfNode, RefusesRanksThatAreNotTheJobs) {
  EXPECT_THAT(ErrorOf([] { OptionsOf(R"({"rank": 0, "world": 1})"); }).message(),
              HasSubstr("rank 0 of 1 is not this one, 3 of 4"));
  ::unsetenv("LOCAL_RANK");
  EXPECT_THAT(ErrorOf([] { OptionsOf("{}"); }).message(), HasSubstr("LOCAL_RANK is not set"));
}

TEST_F(ShareOfNode, RefusesADirectoryThatNobodyKnowsAndABrokenList) {
  variables_.Set("SLIPWAY_DATA_TRAIN", "/tier/train-c");
  EXPECT_THAT(ErrorOf([] { FindDataset("train"); }).message(), HasSubstr("'/tier/train-c' is not a share named in"));
  for (const char* text :
       {"{", R"({"schema": "slipway.shares/2", "nodes": []})", R"({"schema": "slipway.shares/1"})"}) {
    WriteFile(directory_ / "shares.json", text);
    EXPECT_EQ(ErrorOf([] { FindDataset("train"); }).kind(), ErrorKind::kEnvironment) << text;
  }
}

TEST(FindDataset, RefusesABrokenEnvironment) {
  Variables variables;
  variables.Set("RANK", "one");
  EXPECT_THAT(ErrorOf([] { FindDataset("x"); }).message(), HasSubstr("RANK is 'one'"));
  variables.Set("RANK", "0");
  variables.Set("SLIPWAY_DATA_X", "/there");
  variables.Set("SLIPWAY_CONFIG", "{");
  EXPECT_THAT(ErrorOf([] { FindDataset("x"); }).message(), HasSubstr("SLIPWAY_CONFIG is not JSON"));
  variables.Set("SLIPWAY_CONFIG", R"({"data": {"x": {"remainder": 1}}})");
  EXPECT_THAT(ErrorOf([] { FindDataset("x"); }).message(), HasSubstr("data.x: 'remainder' is 1"));
}

}  // namespace
}  // namespace slipway::staging
