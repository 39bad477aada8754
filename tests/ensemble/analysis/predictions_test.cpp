#include "ensemble/analysis/predictions.h"

#include <gmock/gmock.h>

#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "tests/ensemble/analysis/numpy_values.h"
#include "tests/support/numpy_text.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::BytesOfValues;
using test::NpyText;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kOrder = "0123456789abcdef";

class PredictionsFile : public testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text, const std::string& document = {}) {
    WriteFile(folder_ / "predictions.npy", text);
    if (!document.empty()) WriteFile(folder_ / "predictions.json", document);
    return folder_ / "predictions.npy";
  }

  template <class Reader>
  std::string ErrorOf(Reader read) {
    try {
      read(folder_ / "predictions.npy");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      return error.what();
    }
    return "no error";
  }
  std::string Refusal(const std::string& text, const std::string& document = {}) {
    Write(text, document);
    return ErrorOf(ReadPredictions);
  }
  std::string TargetsRefusal(const std::string& text, const std::string& document = {}) {
    Write(text, document);
    return ErrorOf(ReadTargets);
  }

  test::TempDirectory folder_;
};

const std::string kTwoByThree = NpyText("<f4", "(2, 3)", BytesOfValues<float>({0, 1, 2, 3, 4, 5}));

TEST_F(PredictionsFile, AreReadRowByRow) {
  const auto predictions = ReadPredictions(Write(kTwoByThree));
  EXPECT_EQ(predictions.records, 2u);
  EXPECT_EQ(predictions.outputs, 3u);
  EXPECT_THAT(predictions.values, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(predictions.order, "");
  const auto single = ReadPredictions(Write(NpyText("<f4", "(2,)", BytesOfValues<float>({7, 8}))));
  EXPECT_EQ(single.records, 2u);
  EXPECT_EQ(single.outputs, 1u);
}

TEST_F(PredictionsFile, MayNameTheOrderOfTheRecords) {
  const auto document = R"({"schema":"slipway.predictions/1","records":2,"order":")" + kOrder + R"("})";
  EXPECT_EQ(ReadPredictions(Write(kTwoByThree, document)).order, kOrder);
}

TEST_F(PredictionsFile, AreRefusedWhenTheyAreNotFinite32BitNumbers) {
  EXPECT_THAT(Refusal(NpyText("<f8", "(1,)", BytesOfValues<double>({1}))), HasSubstr("type f8, not float32"));
  EXPECT_THAT(Refusal(NpyText("<i4", "(1,)", BytesOfValues<std::int32_t>({1}))), HasSubstr("astype('float32')"));
  EXPECT_THAT(Refusal(NpyText(">f4", "(1,)", "1234")), HasSubstr("other byte order"));
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Refusal(NpyText("<f4", "(2, 2)", BytesOfValues<float>({0, 0, nan, 0}))), HasSubstr("nan for record 1"));
}

TEST_F(PredictionsFile, AreRefusedWithoutRecordsAndInMoreDimensions) {
  EXPECT_THAT(Refusal(NpyText("<f4", "(0,)", "")), HasSubstr("has the shape (0)"));
  EXPECT_THAT(Refusal(NpyText("<f4", "(4, 0)", "")), HasSubstr("has the shape (4, 0)"));
  EXPECT_THAT(Refusal(NpyText("<f4", "()", "1234")), HasSubstr("(records, outputs)"));
  EXPECT_THAT(Refusal(NpyText("<f4", "(1, 1, 1)", "1234")), HasSubstr("has the shape (1, 1, 1)"));
}

TEST_F(PredictionsFile, AnnouncingMoreThanThereIsAllocateNothing) {
  EXPECT_THAT(Refusal(NpyText("<f4", "(1000000000000, 1000)", "1234")), HasSubstr("announces 4000000000000000"));
}

TEST_F(PredictionsFile, ThatAreNoFileAreRefused) {
  EXPECT_THAT(ErrorOf(ReadPredictions), HasSubstr("No such file"));
  std::filesystem::create_directory(folder_ / "predictions.npy");
  EXPECT_THAT(ErrorOf(ReadPredictions), HasSubstr("is no file"));
}

TEST_F(PredictionsFile, WithADamagedDocumentAreRefused) {
  EXPECT_THAT(Refusal(kTwoByThree, "{"), HasSubstr("predictions.json' is no slipway.predictions/1 document"));
  EXPECT_THAT(Refusal(kTwoByThree, R"({"schema":"slipway.targets/1"})"), HasSubstr("is no slipway.predictions/1"));
  EXPECT_THAT(Refusal(kTwoByThree, R"({"schema":"slipway.predictions/1","records":3,"order":"00000000"})"),
              HasSubstr("speaks of 3 records, 'predictions.npy' has 2"));
  EXPECT_THAT(Refusal(kTwoByThree, R"({"schema":"slipway.predictions/1","records":2,"order":"so so so"})"),
              HasSubstr("names no order"));
  EXPECT_THAT(Refusal(kTwoByThree, R"({"schema":"slipway.predictions/1","records":2})"), HasSubstr("names no order"));
  EXPECT_THAT(Refusal(kTwoByThree, std::string(70'000, ' ')), HasSubstr("too large"));
}

TEST_F(PredictionsFile, AsTargetsAreLabelsOfAnyWidthOrNumbers) {
  EXPECT_THAT(ReadTargets(Write(NpyText("<i8", "(2,)", BytesOfValues<std::int64_t>({3, -1})))).labels,
              ElementsAre(3, -1));
  EXPECT_THAT(ReadTargets(Write(NpyText("<i4", "(2,)", BytesOfValues<std::int32_t>({3, 4})))).labels,
              ElementsAre(3, 4));
  EXPECT_THAT(ReadTargets(Write(NpyText("|u1", "(2,)", "\x01\xff"))).labels, ElementsAre(1, 255));
  EXPECT_THAT(ReadTargets(Write(NpyText("|b1", "(2,)", std::string("\0\1", 2)))).labels, ElementsAre(0, 1));
  const auto numbers = ReadTargets(Write(kTwoByThree));
  EXPECT_TRUE(numbers.labels.empty());
  EXPECT_EQ(numbers.outputs, 3u);
  EXPECT_THAT(TargetsRefusal(NpyText("|u1", "(1, 2)", "ab")), HasSubstr("class labels of shape (1, 2)"));
  EXPECT_THAT(TargetsRefusal(NpyText("<f8", "(1,)", BytesOfValues<double>({1}))), HasSubstr("not float32"));
}

TEST_F(PredictionsFile, OfOtherRecordsThanTheTargetsAreRefusedNamingBoth) {
  const RecordsFile predictions{"a/predictions.npy", 2, 3, kOrder, 0};
  EXPECT_NO_THROW(RequireSameRecords(predictions, {"targets.npy", 2, 1, kOrder, 0}));
  EXPECT_NO_THROW(RequireSameRecords(predictions, {"targets.npy", 2, 1, "", 0}));
  EXPECT_THAT(ErrorOf([&](const auto&) {
                RequireSameRecords(predictions, {"targets.npy", 3, 1, kOrder, 0});
              }),
              HasSubstr("'a/predictions.npy' has 2 records, 'targets.npy' has 3"));
  EXPECT_THAT(ErrorOf([&](const auto&) {
                RequireSameRecords(predictions, {"targets.npy", 2, 1, "ffffffff", 0});
              }),
              testing::AllOf(HasSubstr("'a/predictions.npy'"), HasSubstr(kOrder), HasSubstr("'targets.npy'"),
                             HasSubstr("ffffffff")));
}

TEST_F(PredictionsFile, NeverCrashOnDamage) {
  for (std::size_t bit = 0; bit < kTwoByThree.size() * 8; bit += 11) {
    auto damaged = kTwoByThree;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Write(damaged);
    ErrorOf(ReadPredictions);
    ErrorOf(ReadTargets);  // whatever they say, they are Errors
  }
}

}  // namespace
}  // namespace slipway::ensemble
