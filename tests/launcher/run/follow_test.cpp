// What counts as a yes when Ctrl-C has asked whether a job is to end.

#include "launcher/cli/commands/follow.h"

#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

TEST(MeansYes, OnlyWhereItWasTyped) {
  for (const char* yes : {"y", "Y\n", "yes\r\n", "y "}) EXPECT_TRUE(MeansYes(yes)) << yes;
  for (const char* no : {"", "\n", "n\n", "yellow\n", " y\n", "no\ny\n"}) EXPECT_FALSE(MeansYes(no)) << no;
}

}  // namespace
}  // namespace slipway::launcher
