// What requests get, sound and hostile.

#include "launcher/serve/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;

const Access kAccess = MakeAccess("0123", "127.0.0.1", 8000, "node17");

HttpRequest Get(std::string_view target) { return {"GET", target, "localhost:8000", "", ""}; }

HttpRequest WithCookie(std::string_view target) { return {"GET", target, "localhost:8000", "slipway-8000=0123", ""}; }

/// 0: it is not refused.
int Refusal(const HttpRequest& request) {
  const auto action = Decide(request, kAccess);
  const auto* refused = std::get_if<Refuse>(&action);
  return refused != nullptr ? refused->status : 0;
}

TEST(Route, GivesNothingWithoutTheToken) {
  for (const char* target :
       {"/", "/api/runs", "/api/view?run=a", "/nowhere", "/?token=", "/?token=0124", "/?token=01234", "/?TOKEN=0123",
        "/token=0123", "", "?", "/?token=%30%31%32", "/?token=0123%"}) {
    EXPECT_EQ(Refusal(Get(target)), 403) << target;
  }
  EXPECT_EQ(Refusal({"POST", "/", "localhost", "", ""}), 403) << "methods tell nothing either";
}

TEST(Route, TakesTheTokenFromTheUrlIntoACookie) {
  EXPECT_TRUE(std::holds_alternative<EnterPage>(Decide(Get("/?token=0123"), kAccess)));
  EXPECT_TRUE(std::holds_alternative<EnterPage>(Decide(Get("/?x=1&token=%30123"), kAccess)));
  EXPECT_TRUE(std::holds_alternative<ShowPage>(Decide(WithCookie("/"), kAccess)));
  EXPECT_TRUE(std::holds_alternative<ListAllRuns>(Decide(WithCookie("/api/runs"), kAccess)));
  EXPECT_TRUE(std::holds_alternative<ListAllRuns>(Decide(Get("/api/runs?token=0123"), kAccess)));
}

TEST(Route, RefusesForeignNamesEvenWithTheToken) {
  EXPECT_EQ(Refusal({"GET", "/?token=0123", "evil.example:8000", "", ""}), 403);
  EXPECT_EQ(Refusal({"GET", "/api/runs", "", "slipway-8000=0123", ""}), 403);
}

TEST(Route, IgnoresTheCookieThatAnotherSiteMadeABrowserSend) {
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(Refusal({"GET", "/api/runs", "localhost", "slipway-8000=0123", site}), 403) << site;
    EXPECT_EQ(Refusal({"GET", "/?token=0123", "localhost", "", site}), 0) << "a link with the token: " << site;
  }
  for (const char* site : {"same-origin", "none"}) {
    EXPECT_EQ(Refusal({"GET", "/api/runs", "localhost", "slipway-8000=0123", site}), 0) << site;
  }
}

TEST(Route, OnlyReads) {
  for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get", ""}) {
    EXPECT_EQ(Refusal({method, "/api/runs", "localhost", "slipway-8000=0123", ""}), 405) << method;
  }
}

TEST(Route, NamesRunsAsTheyWereWritten) {
  const auto one = Decide(WithCookie("/api/view?run=..%2F..%2Fetc%2Fpasswd"), kAccess);
  EXPECT_THAT(std::get<ShowRuns>(one).ids, ElementsAre("../../etc/passwd")) << "no id of ListRuns";
  const auto two = Decide(WithCookie("/api/view?run=a+b&run=%00&x=1&run"), kAccess);
  EXPECT_THAT(std::get<ShowRuns>(two).ids, ElementsAre("a b", std::string(1, '\0'), ""));
  EXPECT_EQ(std::get<ShowWorkflow>(Decide(WithCookie("/workflow?run=a%2Fb"), kAccess)).id, "a/b");
  EXPECT_EQ(std::get<FollowRun>(Decide(WithCookie("/api/changes?run=a"), kAccess)).id, "a");
}

TEST(Route, LimitsWhatOneRequestMayAskFor) {
  std::string many = "/api/view?";
  for (std::size_t i = 0; i <= kMostCompared; ++i) many += "run=a&";
  EXPECT_EQ(Refusal(WithCookie(many)), 400);
  EXPECT_EQ(Refusal(WithCookie("/api/view")), 400);
  EXPECT_EQ(Refusal(WithCookie("/api/changes?run=a&run=b")), 400);
  EXPECT_EQ(Refusal(WithCookie("/workflow?run=a&run=b")), 400);
  EXPECT_EQ(Refusal(WithCookie("/api")), 404);
  EXPECT_EQ(Refusal(WithCookie("/api/runs/")), 404);
  EXPECT_EQ(Refusal(WithCookie("//")), 404);
  EXPECT_EQ(Refusal(WithCookie("http://localhost/api/runs")), 404);
}

}  // namespace
}  // namespace slipway::launcher
