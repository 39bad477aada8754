// Lines of metrics: the fast reader against the JSON library, and the numbers of lines without a step.

#include "core/metrics_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "core/plain_metrics_line.h"

namespace slipway {
namespace {

/// Read by the JSON library: the fast reader does not know the member.
std::optional<MetricsLine> ReadByLibrary(std::string_view line) {
  return ParseMetricsLine("{\"other\":0," + std::string(line.substr(line.find('{') + 1)));
}

bool Same(double left, double right) { return left == right || (std::isnan(left) && std::isnan(right)); }

testing::AssertionResult AreSame(const MetricsLine& left, const MetricsLine& right) {
  const auto same_value = [](const auto& one, const auto& other) {
    return one.first == other.first && Same(one.second, other.second);
  };
  if (left.step != right.step || left.has_step != right.has_step) return testing::AssertionFailure() << "step";
  if (left.epoch != right.epoch || left.time != right.time) return testing::AssertionFailure() << "epoch or time";
  if (!std::ranges::equal(left.values, right.values, same_value)) return testing::AssertionFailure() << "values";
  return testing::AssertionSuccess();
}

constexpr std::string_view kPlain[] = {
    R"({"time":1795363200.5,"step":10,"epoch":1.5,"metrics":{"loss":0.5}})",
    R"({"time": 1.795e9, "step": 7, "epoch": null, "metrics": {"loss": -2.25e-3, "top 1": 0, "up": 1E+2}})",
    R"( {"metrics":{"a":"NaN","b":"Infinity","c":"-Infinity"} , "step" : 12.75 } )",
    R"({"metrics":{},"step":-3})",
    R"({"metrics":{"x":9007199254740993,"x":1}})",
};

TEST(PlainMetricsLine, TakesTheUsualFormsAsTheLibraryDoes) {
  for (const auto line : kPlain) {
    const auto plain = ParsePlainMetricsLine(line);
    ASSERT_TRUE(plain) << line;
    EXPECT_TRUE(AreSame(*plain, *ReadByLibrary(line))) << line;
  }
}

TEST(PlainMetricsLine, LeavesTheRestToTheLibrary) {
  for (const auto* line :
       {R"({"step":1})", R"({"metrics":{"a":NaN}})", R"({"metrics":{"a":05}})", R"({"metrics":{"a":5.}})",
        R"({"metrics":{"a":.5}})", R"({"metrics":{"a":1e400}})", R"({"metrics":{"a":1},})", R"({"metrics":{"a":1}}})",
        R"({"metrics":{"a":1},"metrics":{}})", R"({"metrics":{"a":1},"step":18446744073709551615})",
        R"({"metrics":{"\u0061":1}})", "{\"metrics\":{\"\xc3\xa4\":1}}", "{\"metrics\":{\"a\t\":1}}",
        R"({"metrics":{"a":true}})", R"({"metrics":{"a":inf}})", R"({"rank":0,"metrics":{"a":1}})", "", "{", "[]"}) {
    EXPECT_FALSE(ParsePlainMetricsLine(line)) << line;
  }
}

TEST(PlainMetricsLine, NeverReadsOtherThanTheLibrary) {
  constexpr unsigned kSeed = 20'261'125;
  constexpr std::string_view kCharacters = "{}[]\",:.-+eE0123456789 nulNaIfity\\\t\x7f\xc3";
  std::mt19937 random(kSeed);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  int read = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string line(kPlain[below(std::size(kPlain))]);
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) {
      const auto at = below(line.size());
      line.replace(at, below(2), 1, kCharacters[below(kCharacters.size())]);
    }
    const auto plain = ParsePlainMetricsLine(line);
    if (!plain) continue;
    ++read;
    const auto whole = ReadByLibrary(line);
    ASSERT_TRUE(whole) << line;
    ASSERT_TRUE(AreSame(*plain, *whole)) << line;
  }
  EXPECT_GT(read, 2'000);
}

TEST(MetricsReader, NumbersLinesWithoutAStep) {
  MetricsReader reader;
  const auto step = [&](const char* line) { return reader.Read(line)->step; };
  EXPECT_EQ(step(R"({"metrics":{"loss":3}})"), 0);
  EXPECT_EQ(step(R"({"step":null,"metrics":{"loss":2}})"), 1);
  EXPECT_EQ(step(R"({"step":10,"metrics":{"loss":1}})"), 10);
  EXPECT_FALSE(reader.Read("nonsense"));
  EXPECT_EQ(step(R"({"step":1e30,"metrics":{"loss":1}})"), 11);
  EXPECT_EQ(step(R"({"step":9223372036854775807,"metrics":{}})"), 9223372036854775807);
  EXPECT_EQ(step(R"({"metrics":{}})"), 9223372036854775807);
}

}  // namespace
}  // namespace slipway
