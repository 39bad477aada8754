#include "core/likeness.h"

#include <gtest/gtest.h>

namespace slipway {
namespace {

TEST(WithoutPathsAndNumbers, MakesWhatDiffersInThemAlike) {
  EXPECT_EQ(WithoutPathsAndNumbers("cannot create '/runs/a-1/trials/00017': No space left on device"),
            "cannot create 'PATH': No space left on device");
  EXPECT_EQ(WithoutPathsAndNumbers("rank 0 on node17 ended with signal 9"), "rank N on nodeN ended with signal N");
  EXPECT_EQ(WithoutPathsAndNumbers("loss=0.125e-3, step 7"), WithoutPathsAndNumbers("loss=3.5e-1, step 1200"));
  EXPECT_EQ(WithoutPathsAndNumbers("object at 0x7f3ac0de"), "object at N");
}

TEST(WithoutPathsAndNumbers, LeavesWordsAsTheyAre) {
  for (const char* text : {"", "N/A", "ModuleNotFoundError: No module named 'torch'", "read/write failed", "decade"}) {
    EXPECT_EQ(WithoutPathsAndNumbers(text), text);
  }
}

}  // namespace
}  // namespace slipway
