// Hostile text stays text.

#include "launcher/view/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/json.h"
#include "launcher/view/report_page.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, EscapesMarkupControlsAndBrokenUtf8) {
  EXPECT_EQ(EscapeHtml("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml("tier \xc3\xa9\n"), "tier \xc3\xa9\n");
}

TEST(Html, JsonCannotEndAScript) {
  const Json document = "</script><!--<script>&\xe2\x80\xa8";
  const auto text = JsonWithinScript(document.dump());
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xa8")));
  EXPECT_EQ(Json::parse(text), document);
}

TEST(Html, AnyTextOfARunStaysWithinItsElement) {
  std::mt19937 random(7);
  const std::string pieces[] = {
      "</script>", "<!--",           "-->",  "<!-- slipway:script -->", "\"", "'", "\\", "\xff", "\n",
      "]]>",       "<svg onload=x>", "&lt;", std::string(1, '\0'),      "a"};
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += pieces[random() % std::size(pieces)];
    RunView run;
    run.run = run.reason = run.name = text;
    run.curves.push_back({text, {}, 1, 1, 0, 1.0, 1.0, {0}, {1.0}, {0}});
    run.failures.push_back({text, 1, {}, {}, {}, text, {text}});
    const auto page = ReportPage({run}, 0);
    const std::string open = "<script type=\"application/json\" id=\"slipway-view\">";
    const auto at = page.find(open);
    ASSERT_NE(at, std::string::npos);
    const auto end = page.find("</script>", at);
    const auto document = Json::parse(page.substr(at + open.size(), end - at - open.size()), nullptr, false);
    ASSERT_TRUE(document.is_object()) << text;
    EXPECT_EQ(document["runs"][0]["failures"].size(), 1u);
    EXPECT_THAT(page, Not(HasSubstr("<svg onload")));
  }
}

TEST(Html, PacksLargeDocuments) {
  RunView run;
  run.spec = std::string(3 << 20, '<');
  const auto page = ReportPage({run}, 0);
  EXPECT_LT(page.size(), std::size_t{1} << 20);
  EXPECT_THAT(page, HasSubstr("type=\"application/gzip\" id=\"slipway-view\">H4sI"));
}

}  // namespace
}  // namespace slipway::launcher
