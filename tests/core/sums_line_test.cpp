#include "core/sums_line.h"

#include <gtest/gtest.h>

namespace slipway {
namespace {

const SumsLine kLine{40, {0x1, 0xfedcba9876543210}, {{0x2, 0x3}}};

TEST(SumsLine, IsReadAsItWasWritten) {
  const auto text = FormatSumsLine(kLine);
  EXPECT_EQ(text, R"({"step":40,"gradients":["0000000000000001","fedcba9876543210"],)"
                  R"("exchanged":["0000000000000002","0000000000000003"]})"
                  "\n");
  const auto read = ParseSumsLine(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->step, 40);
  EXPECT_EQ(read->gradients, kLine.gradients);
  EXPECT_EQ(read->exchanged, kLine.exchanged);
}

TEST(SumsLine, MayHaveNoResult) {
  const auto read = ParseSumsLine(R"({"step":0,"gradients":[],"exchanged":null})");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->exchanged);
}

TEST(SumsLine, IsNothingWhenTornOrForeign) {
  const auto whole = FormatSumsLine(kLine);
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {
    EXPECT_FALSE(ParseSumsLine(whole.substr(0, size))) << size;
    EXPECT_FALSE(StepOfSumsLine(whole.substr(0, size))) << size;
  }
  for (const auto* line :
       {"", "{}", "loss 3", R"({"step":-1,"gradients":[],"exchanged":null})", R"({"step":"1"})", R"({"step":1})",
        R"({"step":1,"gradients":["1"],"exchanged":null})", R"({"step":1,"gradients":[1],"exchanged":null})",
        R"({"step":1,"gradients":["000000000000000g"],"exchanged":null})", R"({"step":1,"gradients":[],"exchanged":3})",
        R"({"step":1,"gradients":[],"exchanged":["0000000000000001"]})",
        R"({"step":99999999999999999999,"gradients":[]})"}) {
    EXPECT_FALSE(ParseSumsLine(line)) << line;
  }
}

TEST(SumsLine, TakesAtMost38BytesForEachTensor) {
  const std::vector<std::uint64_t> sums(1000, ~std::uint64_t{0});
  const auto line = FormatSumsLine({std::int64_t{1} << 62, sums, sums});
  EXPECT_LE(line.size(), 1000u * 38 + 60);
}

TEST(SumsHeader, IsReadAsItWasWritten) {
  const SumsHeader header{"net", 1, 4, 10, true, {{"conv1.weight", "float32", 3456}, {"a \"b\"\n\xff", "bfloat16", 2}}};
  auto text = FormatSumsHeader(header);
  ASSERT_EQ(text.find('\n'), text.size() - 1);
  text.pop_back();
  const auto read = ParseSumsHeader(text);
  ASSERT_TRUE(read) << text;
  EXPECT_EQ(read->team, "net");
  EXPECT_EQ(read->rank, 1);
  EXPECT_EQ(read->ranks, 4);
  EXPECT_EQ(read->every, 10);
  EXPECT_TRUE(read->resumed);
  ASSERT_EQ(read->tensors.size(), 2u);
  EXPECT_EQ(read->tensors[0], header.tensors[0]);
  for (const auto* line : {"", "{}", R"({"schema":"slipway.comm/1"})", R"({"schema":"slipway.sums/1","team":3})"}) {
    EXPECT_FALSE(ParseSumsHeader(line)) << line;
  }
  EXPECT_FALSE(ParseSumsHeader(text.substr(0, text.size() / 2)));
}

TEST(SumsFileName, NamesRankAndTeam) {
  EXPECT_EQ(SumsFileName({1, 7}), "sums-00007.jsonl");
  EXPECT_EQ(SumsFileName({2, 123456}), "sums-123456-team2.jsonl");
  for (const SumsFileId id : {SumsFileId{1, 0}, SumsFileId{12, 99999}, SumsFileId{1, 100000}}) {
    EXPECT_EQ(ParseSumsFileName(SumsFileName(id)), id);
  }
  for (const auto* name : {"", "sums-.jsonl", "sums-7.jsonl", "sums--0007.jsonl", "sums-00007.jsonl~", "sums-jsonl",
                           "sums-00007-team1.jsonl", "sums-00007-team.jsonl", "rank-00007.log"}) {
    EXPECT_FALSE(ParseSumsFileName(name)) << name;
  }
}

}  // namespace
}  // namespace slipway
