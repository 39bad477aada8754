#include "ensemble/manager/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

TEST(Requests, AreReadInTheOrderInWhichTheyWerePosted) {
  test::TempDirectory folder;
  EXPECT_TRUE(WaitingRequests(folder.path()).empty());
  const auto first = PostRequest(folder.path(), Enqueue{{{"lr", 0.5}, {"name", std::string("x")}}});
  const auto second = PostRequest(folder.path(), Retry{{7}});
  const auto waiting = WaitingRequests(folder.path());
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[0].name, first);
  EXPECT_EQ(std::get<Enqueue>(waiting[0].what).point, (Point{{"lr", 0.5}, {"name", std::string("x")}}));
  EXPECT_THAT(std::get<Retry>(waiting[1].what).trials, testing::ElementsAre(7));
  RemoveRequest(folder.path(), first);
  RemoveRequest(folder.path(), second);
  EXPECT_TRUE(WaitingRequests(folder.path()).empty());
}

TEST(Requests, WhatCannotBeUnderstoodSaysWhy) {
  test::TempDirectory folder;
  MakeDirectories(folder / kRequestsFolder);
  const auto file = [&](const char* name) { return folder / kRequestsFolder / name; };
  WriteFile(file("1.json"), "{");
  WriteFile(file("2.json"), R"({"do":"dance"})");
  WriteFile(file("3.json"), R"({"do":"retry","trials":"seven"})");
  WriteFile(file("4.json"), std::string(2 << 20, ' '));
  WriteFile(file(".5.json"), "{}");
  WriteFile(file("6.txt"), "{}");
  const auto waiting = WaitingRequests(folder.path());
  ASSERT_EQ(waiting.size(), 4u);
  for (const auto& request : waiting) {
    EXPECT_FALSE(std::get<Malformed>(request.what).reason.empty()) << request.name;
  }
}

}  // namespace
}  // namespace slipway::ensemble
