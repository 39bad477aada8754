#include "staging/network/stage_across.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "tests/staging/network/group_support.h"

namespace slipway::staging {
namespace {

using testing::HasSubstr;

std::string Noise(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (auto& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return text;
}

/// One file that all nodes read parts of, small ones, an empty one, one in a folder.
void PutMixedFiles(const TestGroup& group) {
  Put(group.source() / "big.bin", Noise(18'000'001, 1));
  for (int i = 0; i < 9; ++i) {
    Put(group.source() / ("small" + std::to_string(i)), Noise(50'000 + 17 * static_cast<std::size_t>(i), 2));
  }
  Put(group.source() / "empty", "");
  Put(group.source() / "folder" / "deep" / "file.bin", Noise(2'000'000, 3));
}

std::uint64_t TotalRead(const std::vector<NodeResult>& results) {
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const NodeResult& result) { return sum + result.staged->read.count; });
}

/// Every node has published just the source's files, with all their bytes.
void ExpectPublished(const TestGroup& group, std::size_t node) {
  const auto published = group.Published(node);
  ASSERT_TRUE(published) << "node " << node;
  const auto plan = group.Plan(node);
  ASSERT_EQ(published->size(), plan.files.size());
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    EXPECT_EQ((*published)[i].first, plan.files[i].name.string());
    EXPECT_TRUE((*published)[i].second == ReadFile(plan.files[i].path)) << plan.files[i].name.native();
  }
}

class Nodes : public testing::TestWithParam<std::size_t> {};

TEST_P(Nodes, AllHoldTheSameBytesAndTheSourceIsReadOnce) {
  TestGroup group(GetParam());
  PutMixedFiles(group);
  const auto results = StageOnAll(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    ASSERT_TRUE(results[i].staged) << results[i].error;
    EXPECT_FALSE(results[i].staged->dataset.adopted);
    EXPECT_TRUE(results[i].staged->dataset.lease);
    ExpectPublished(group, i);
  }
  EXPECT_EQ(TotalRead(results), group.Plan(0).total.count);
}

INSTANTIATE_TEST_SUITE_P(StageAcross, Nodes, testing::Values(1, 2, 3, 4));

TEST(StageAcross, ManifestIsTheOneOfALocalCopy) {
  TestGroup group(3);
  for (int i = 0; i < 5; ++i) {
    Put(group.source() / ("part" + std::to_string(i) + ".tfrecord"), TfrecordBytes(100, 50'000));
  }
  const auto results = StageOnAll(group, DataFormat::kTfrecord);
  auto request = RequestFor(group.source(), group / "local", DataFormat::kTfrecord);
  const auto local = Stage(PlanFor(request));
  const auto expected = ParseManifest(ReadFile(local.manifest));
  for (const auto& result : results) {
    ASSERT_TRUE(result.staged) << result.error;
    const auto manifest = ParseManifest(ReadFile(result.staged->dataset.manifest));
    EXPECT_EQ(manifest.TotalRecords(), 500u);
    ASSERT_EQ(manifest.files.size(), expected.files.size());
    for (std::size_t i = 0; i < expected.files.size(); ++i) {
      EXPECT_EQ(manifest.files[i].crc32c, expected.files[i].crc32c);
      EXPECT_EQ(manifest.files[i].records, expected.files[i].records);
    }
  }
}

TEST(StageAcross, OneReaderFeedsAll) {
  TestGroup group(3);
  PutMixedFiles(group);
  for (auto& node : group.groups) node.readers = 1;
  const auto results = StageOnAll(group);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(results[i].staged) << results[i].error;
    ExpectPublished(group, i);
    EXPECT_EQ(results[i].staged->read.count, i == 0 ? group.Plan(0).total.count : 0u);
  }
}

TEST(StageAcross, FullVerificationReadsTheCopyBack) {
  TestGroup group(2);
  PutMixedFiles(group);
  const auto results = OnAll(2, [&](std::size_t node) {
    return StageAcrossNodes(group.Plan(node, DataFormat::kRaw, VerifyMode::kFull), {}, group.groups[node]);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(results[i].staged) << results[i].error;
    EXPECT_TRUE(group.Published(i));
  }
}

TEST(StageAcross, NodesThatHaveItFeedTheOthersAndTheSourceIsNotRead) {
  TestGroup group(4);
  PutMixedFiles(group);
  (void)Stage(group.Plan(1));
  (void)Stage(group.Plan(2));
  const auto results = StageOnAll(group);
  const auto total = group.Plan(0).total.count;
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(results[i].staged) << results[i].error;
    const bool had = i == 1 || i == 2;
    EXPECT_EQ(results[i].staged->dataset.adopted, had);
    ExpectPublished(group, i);
    EXPECT_EQ(results[i].staged->read.count > 0, had);
  }
  EXPECT_EQ(results[1].staged->read.count + results[2].staged->read.count, total);
}

TEST(StageAcross, NothingMovesWhenAllHaveIt) {
  TestGroup group(3);
  PutMixedFiles(group);
  (void)StageOnAll(group);
  const auto results = StageOnAll(group);
  for (const auto& result : results) {
    ASSERT_TRUE(result.staged) << result.error;
    EXPECT_TRUE(result.staged->dataset.adopted);
    EXPECT_EQ(result.staged->read.count, 0u);
    EXPECT_LT(result.staged->sent.count, 10'000u);
  }
}

TEST(StageAcross, BandwidthLimitHoldsForReadsOfTheSource) {
  TestGroup group(2);
  Put(group.source() / "file", Noise(8 << 20, 1));
  StageOptions options;
  options.bandwidth = Bytes{8 << 20};  // each node reads 4 MiB of 8 MiB
  const auto results = StageOnAll(group, DataFormat::kRaw, options);
  for (const auto& result : results) {
    ASSERT_TRUE(result.staged) << result.error;
  }
  EXPECT_GT(results[0].staged->dataset.elapsed.count() + results[1].staged->dataset.elapsed.count(), 0.7);
}

TEST(StageAcross, ProgressEndsAtTheTotalOnEveryNode) {
  TestGroup group(2);
  PutMixedFiles(group);
  std::vector<Bytes> last(2);
  const auto results = OnAll(2, [&](std::size_t node) {
    StageOptions options;
    options.progress = [&, node](const StageProgress& progress) { last[node] = progress.done; };
    return StageAcrossNodes(group.Plan(node), options, group.groups[node]);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(results[i].staged) << results[i].error;
    EXPECT_EQ(last[i], group.Plan(i).total);
  }
}

TEST(StageAcross, RefusesToReadInPlace) {
  TestGroup group(2);
  Put(group.source() / "file", "content");
  auto plan = group.Plan(0);
  plan.tier = "none";
  EXPECT_THAT(MessageOf([&] { (void)StageAcrossNodes(plan, {}, group.groups[0]); }), HasSubstr("read in place"));
}

}  // namespace
}  // namespace slipway::staging
