// Who can have written a file: what looks at it between begins and ends of trials tell.

#include "launcher/run/trials/shared_writes.h"

#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

ContentStamps At(std::int64_t model, std::int64_t other = 0) {
  return {{"model", {1, 1, model}}, {"other", {2, 1, other}}};
}

TEST(WritersOfFiles, FindTwoThatWroteOneAfterTheOther) {
  WritersOfFiles writers(At(0));
  EXPECT_TRUE(writers.Look(At(1), {0}).empty());
  EXPECT_TRUE(writers.Look(At(2), {0}).empty());
  const auto found = writers.Look(At(3), {1});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, "model");
  EXPECT_EQ(found[0].first, TrialSet{0});
  EXPECT_EQ(found[0].then, TrialSet{1});
  EXPECT_TRUE(writers.Look(At(4), {2}).empty()) << "each file is told once";
}

TEST(WritersOfFiles, FindThemAmongThoseThatRunTogether) {
  WritersOfFiles writers(At(0));
  EXPECT_TRUE(writers.Look(At(1), {0, 1}).empty());
  EXPECT_TRUE(writers.Look(At(2), {1, 2}).empty()) << "all of it may be of trial 1";
  EXPECT_EQ(writers.Look(At(3), {2, 3}).size(), 1u);
}

TEST(WritersOfFiles, AreNoTrialsWhenNoneRuns) {
  WritersOfFiles writers(At(0));
  writers.Look(At(0), {0});
  writers.Look(At(1), {});
  EXPECT_TRUE(writers.Look(At(1), {1}).empty());
  EXPECT_TRUE(writers.Likely().files.empty());
}

TEST(WritersOfFiles, AreLikelyFollowedByReadersWhereFilesAreFewerThanTrials) {
  WritersOfFiles writers(At(0));
  writers.Look(At(1), {0});
  writers.Look(At(1), {1});
  const auto likely = writers.Likely();
  ASSERT_EQ(likely.files.size(), 1u);
  EXPECT_EQ(likely.files.at("model"), TrialSet{0});
  EXPECT_EQ(likely.trials, 2u);
}

TEST(WritersOfFiles, AreLikelySeveralWhereTheyRunTogether) {
  WritersOfFiles writers(At(0));
  writers.Look(At(1), {0, 1, 2});
  EXPECT_TRUE(writers.Look(At(2), {1, 2}).empty());
  EXPECT_EQ(writers.Likely().files.at("model"), (TrialSet{0, 1, 2}));
}

TEST(WritersOfFiles, AreLikelyOneEachWhereEachTrialHasAFile) {
  WritersOfFiles writers(At(0));
  writers.Look(At(1, 1), {0, 1});
  writers.Look(At(2, 2), {0, 1});
  EXPECT_TRUE(writers.Likely().files.empty());
}

}  // namespace
}  // namespace slipway::launcher
