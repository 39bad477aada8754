#include "launcher/workflow/draw.h"

#include <gmock/gmock.h>

#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::GraphOf;
using testing::HasSubstr;
using testing::Not;

std::string PictureOf(const std::vector<std::vector<StepIndex>>& needs) {
  return DrawSvg(GraphOf(needs), std::vector<DrawnStep>(needs.size()));
}

TEST(Pictures, DrawNeighboursFromTopToBottom) {
  EXPECT_THAT(PictureOf({{}, {0}}), HasSubstr("<path d=\"M111 60C111 84 111 84 111 108\"/>"));
}

TEST(Pictures, LeadLinesAroundTheBoxesBetween) {
  const auto chain = PictureOf({{}, {0}, {0, 1}});
  EXPECT_THAT(chain, HasSubstr("<path d=\"M206 38C242 38 242 222 206 222\"/>"));
  EXPECT_THAT(chain, HasSubstr("width=\"258\"")) << "it has room for the line";
}

TEST(Pictures, DrawStraightWhereNoBoxIsBetween) {
  // s0 and s2 are in the middle; s1, s3 are beside that line.
  const auto picture = PictureOf({{}, {0}, {0}, {1, 2, 0}});
  EXPECT_THAT(picture, HasSubstr("<path d=\"M218 60C218 84 218 176 218 200\"/>"));
}

TEST(Pictures, ShortenNotesThatDoNotFit) {
  const auto picture = [](const std::string& note) { return DrawSvg(GraphOf({{}}), {{note, StepLook::kRuns}}); };
  EXPECT_THAT(picture(std::string(25, 'x')), HasSubstr(">command: " + std::string(25, 'x') + "<"));
  EXPECT_THAT(picture(std::string(26, 'x')), HasSubstr(">command: " + std::string(22, 'x') + "...<"));
  EXPECT_THAT(picture(std::string(25, 'x') + "\u00e4"), HasSubstr(">command: " + std::string(22, 'x') + "...<"));
  std::string umlauts;
  for (int i = 0; i < 26; ++i) umlauts += "\u00e4";
  EXPECT_THAT(picture(umlauts), HasSubstr(">command: " + umlauts.substr(0, 44) + "...<")) << "whole characters only";
}

TEST(Pictures, TellBlockedStepsFromFailedOnesWithoutColours) {
  const auto picture = [](StepLook look) { return DrawSvg(GraphOf({{}}), {{"", look}}); };
  EXPECT_THAT(picture(StepLook::kBlocked), HasSubstr(" stroke-dasharray="));
  EXPECT_THAT(picture(StepLook::kFailed), Not(HasSubstr(" stroke-dasharray=")));
}

TEST(Pictures, ShortenNamesThatDoNotFit) {
  auto graph = GraphOf({{}});
  graph.steps[0].name = "evaluate_the_models_";
  EXPECT_THAT(DrawSvg(graph, {{}}), HasSubstr("class=\"name\">evaluate_the_models_<"));
  graph.steps[0].name += "2";
  EXPECT_THAT(DrawSvg(graph, {{}}), HasSubstr("class=\"name\">evaluate_the_mode...<"));
  EXPECT_THAT(DrawSvg(graph, {{}}), HasSubstr("<title>evaluate_the_models_2:")) << "the whole name is in its title";
}

TEST(Pictures, OfNothingAreEmpty) { EXPECT_THAT(PictureOf({}), Not(HasSubstr("<rect x"))); }

}  // namespace
}  // namespace slipway::launcher
