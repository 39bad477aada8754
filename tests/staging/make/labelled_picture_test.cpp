#include "staging/make/labelled_picture.h"

#include <gmock/gmock.h>

#include <set>

#include "staging/make/encode_jpeg.h"
#include "staging/reader/jpeg.h"

namespace slipway::staging {
namespace {

TEST(FigureName, TellsAllClassesApart) {
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < kFigureClasses; ++i) names.insert(FigureName(i));
  EXPECT_EQ(names.size(), kFigureClasses);
  EXPECT_EQ(FigureName(0), "disc");
  EXPECT_EQ(FigureName(9), "striped ring");
}

TEST(LabelledPicture, HasSidesAroundTheSizeAndThreeColours) {
  for (std::uint64_t record = 0; record < 40; ++record) {
    auto draw = Draw::ForRecord(1, record);
    const auto picture = DrawLabelledPicture(record, 50, draw);
    EXPECT_THAT(picture.height, testing::AllOf(testing::Ge(40u), testing::Le(70u)));
    EXPECT_THAT(picture.width, testing::AllOf(testing::Ge(40u), testing::Le(70u)));
    EXPECT_EQ(picture.pixels.size(), picture.height * picture.width * 3);
  }
}

/// The same scene with another figure differs where the figures do, and nowhere else.
TEST(LabelledPicture, OfAnotherClassShowsAnotherFigure) {
  for (std::uint64_t figure = 1; figure < kFigureClasses; ++figure) {
    auto draw = Draw::ForRecord(1, 3);
    auto same_draw = Draw::ForRecord(1, 3);
    const auto disc = DrawLabelledPicture(0, 64, draw);
    const auto other = DrawLabelledPicture(figure, 64, same_draw);
    ASSERT_EQ(disc.pixels.size(), other.pixels.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < disc.pixels.size(); ++i) different += disc.pixels[i] != other.pixels[i];
    EXPECT_GT(different, disc.pixels.size() / 200) << FigureName(figure);
    EXPECT_LT(different, disc.pixels.size()) << FigureName(figure);
  }
}

TEST(EncodeJpeg, GivesAFileThatDecodesToNearlyThePicture) {
  auto draw = Draw::ForRecord(1, 5);
  const auto picture = DrawLabelledPicture(2, 64, draw);
  const auto file = EncodeJpeg(picture, 90);
  EXPECT_LT(file.size(), picture.pixels.size() / 2);
  std::vector<std::byte> decoded;
  std::vector<std::byte> spare;
  DecodeJpegFile(file, 3, 1 << 20, spare, [&](const JpegSize& size) {
    EXPECT_EQ(size.height, picture.height);
    EXPECT_EQ(size.width, picture.width);
    decoded.resize(size.height * size.width * 3);
    return std::span(decoded);
  });
  ASSERT_EQ(decoded.size(), picture.pixels.size());
  double difference = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    difference += std::abs(std::to_integer<int>(decoded[i]) - std::to_integer<int>(picture.pixels[i]));
  }
  EXPECT_LT(difference / static_cast<double>(decoded.size()), 20);
}

}  // namespace
}  // namespace slipway::staging
