// Pictures of an ensemble: round ticks, escaped names, the right marks.

#include "launcher/cli/commands/trials_plot.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/plots/charts.h"
#include "launcher/cli/plots/svg.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> LabelsOf(const Axis& axis) {
  std::vector<std::string> labels;
  for (const auto& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

int CountOf(const std::string& what, const std::string& text) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Axes, HaveRoundTicks) {
  EXPECT_THAT(LabelsOf(LinearAxis("x", 0.03, 0.97)),
              ElementsAre("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"));
  EXPECT_THAT(LabelsOf(LinearAxis("x", -7, 12)),
              ElementsAre("-8", "-6", "-4", "-2", "0", "2", "4", "6", "8", "10", "12"));
  EXPECT_THAT(LabelsOf(LogAxis("x", 1e-4, 0.1)), ElementsAre("0.0001", "0.001", "0.01", "0.1"));
  EXPECT_THAT(LabelsOf(LogAxis("x", 8, 256)), ElementsAre("10", "20", "50", "100", "200"));
  EXPECT_THAT(LabelsOf(WordsAxis("x", {"sgd", "adam"})), ElementsAre("sgd", "adam"));
}

TEST(Axes, PlaceValuesBetweenTheirEnds) {
  EXPECT_DOUBLE_EQ(LogAxis("x", 1e-4, 1).PlaceOf(1e-2), 0.5);
  EXPECT_DOUBLE_EQ(LinearAxis("x", 0, 10).PlaceOf(2.5), 0.25);
  EXPECT_DOUBLE_EQ(WordsAxis("x", {"a", "b"}).PlaceOf(1), 0.75);
}

TEST(Axes, OfOneValueOrWideOnesCanBeDrawn) {
  for (const double value : {0.0, 0.5, -3.0, 1e-300, 1e300}) {
    const double values[] = {value, value};
    const auto axis = AxisFor("x", values);
    EXPECT_LT(axis.low, axis.high) << value;
    EXPECT_GE(axis.ticks.size(), 2u) << value;
    EXPECT_THAT(axis.PlaceOf(value), AllOf(testing::Ge(0), testing::Le(1))) << value;
  }
  const double wide[] = {1e-5, 0.3, 2e4};
  EXPECT_TRUE(AxisFor("x", wide).logarithmic);
}

TEST(Axes, OfAParameterAreThoseOfItsDomain) {
  const auto axis = [](const char* definition) {
    return AxisOf(ensemble::ParseParameter("p", Json::parse(definition)));
  };
  EXPECT_TRUE(axis(R"({"log":[1e-4,1e-1]})").logarithmic);
  EXPECT_TRUE(axis(R"({"int_log":[8,1024]})").logarithmic);
  EXPECT_FALSE(axis(R"({"int":[1,4]})").logarithmic);
  EXPECT_THAT(LabelsOf(axis(R"({"choice":[32,"big",true]})")), ElementsAre("32", "big", "true"));
}

TEST(SvgText, IsEscapedWhateverItIs) {
  EXPECT_EQ(EscapeXml("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(EscapeXml(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(EscapeXml("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(EscapeXml("größe"), "größe");
}

TEST(SvgText, IsShortenedBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "ä";
  Svg svg(10, 10);
  svg.Text({1, 1}, Anchor::kStart, name);
  const auto document = svg.Finish("t");
  EXPECT_EQ(CountOf("ä", document), 40);
  EXPECT_EQ(CountOf("…", document), 1);
}

TEST(Charts, InterruptTheThreadOfATrialWhereItHasNoValue) {
  const auto axis = LinearAxis("x", 0, 1);
  const ParallelPlot plot{"t", {axis, axis, axis, axis, axis}, {{{0.0, 1.0, std::nullopt, 0.0, 1.0}, true}}};
  EXPECT_EQ(CountOf("<polyline class=\"strong\"", Draw(plot)), 2);
}

/// Twelve trials: x in {0, 1, 2, 3}, a second parameter with a hostile name; accuracy x - 0.1 y.
class TrialsPlotted : public testing::Test {
 protected:
  static constexpr auto kHostile = "</text><script>alert(1)</script>";

  void Run(const std::vector<ensemble::Objective>& objectives) {
    ensemble::FakeRunner runner([](ensemble::TrialNumber trial, int, const Json& parameters) {
      if (trial == 11) return ensemble::Exits({3, 0}, "rank 0: bad");
      const double x = parameters.at("x").get<double>();
      auto script = ensemble::Reports("accuracy", x - 0.1 * parameters.at(kHostile).get<double>());
      script.metrics.push_back({0, 0, 2, 1.0, "loss", x});
      return script;
    });
    ensemble::EnsembleOptions options;
    options.objectives = objectives;
    options.trials = 12;
    options.sampler = "grid";
    options.space = ensemble::ParseSpace(Json{{"x", {{"choice", {0, 1, 2, 3}}}}, {kHostile, {{"choice", {0, 1, 2}}}}});
    auto book = ensemble::TrialBook::OpenForWriting(folder_.path());
    ensemble::CountingObserver observer;
    RunEnsemble(book, options, runner, observer);
  }
  std::string Read(const std::string& name) const { return ReadFile(folder_ / "plots" / name); }

  test::TempDirectory folder_;
  test::KeptOutput output_;
};

TEST_F(TrialsPlotted, AreDrawnInFilesAndOnOnePage) {
  Run({{"accuracy", ensemble::Goal::kMaximize}});
  EXPECT_EQ(TrialsPlot({folder_.path(), {}}, output_), 0);
  EXPECT_EQ(output_.document["schema"], "slipway.trials.plot/1");
  EXPECT_EQ(output_.document["files"].size(), 6u);
  EXPECT_EQ(CountOf("<circle", Read("history.svg")), 11) << "the failed one has no value";
  EXPECT_EQ(CountOf("<polyline class=\"line\"", Read("history.svg")), 1);
  EXPECT_EQ(CountOf("<rect", Read("importance.svg")), 2);
  EXPECT_EQ(CountOf("<polyline", Read("parallel.svg")), 11);
  EXPECT_EQ(CountOf("<svg", Read("index.html")), 5);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "plots/front.svg"));
}

TEST_F(TrialsPlotted, HoldAgainstHostileNamesAndNeedNothingFromElsewhere) {
  Run({{"accuracy", ensemble::Goal::kMaximize}});
  TrialsPlot({folder_.path(), {}}, output_);
  const auto page = Read("index.html");
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;"), HasSubstr("prefers-color-scheme:dark")));
  EXPECT_EQ(CountOf("http", page), CountOf("xmlns=\"http://www.w3.org/2000/svg\"", page));
}

TEST_F(TrialsPlotted, ShowTheFrontOfTwoObjectives) {
  Run({{"accuracy", ensemble::Goal::kMaximize}, {"loss", ensemble::Goal::kMinimize}});
  TrialsPlot({folder_.path(), folder_ / "elsewhere"}, output_);
  const auto front = ReadFile(folder_ / "elsewhere/front.svg");
  EXPECT_EQ(CountOf("<circle class=\"best\"", front), 4);
  EXPECT_EQ(CountOf("<circle class=\"dot\"", front), 7);
}

}  // namespace
}  // namespace slipway::launcher
