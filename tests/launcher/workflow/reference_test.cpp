#include "launcher/workflow/reference.h"

#include <gmock/gmock.h>

namespace slipway::launcher {
namespace {

using testing::SizeIs;

TEST(Reference, IsTakenApart) {
  const auto reference = AsReference("${steps.search.top[0..2].params.lr}");
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->name, "search");
  ASSERT_THAT(reference->path, SizeIs(4));
  EXPECT_EQ(reference->path[0].member, "top");
  EXPECT_EQ(reference->path[1].first, 0);
  EXPECT_EQ(reference->path[1].last, 2);
  EXPECT_EQ(WrittenForm(*reference), "${steps.search.top[0..2].params.lr}");
}

TEST(Reference, StandsBetweenLiterals) {
  const auto pieces = SplitAtReferences("a $${b} ${item} ${outputs.c}/d");
  ASSERT_THAT(pieces, SizeIs(5));
  EXPECT_EQ(std::get<std::string>(pieces[0]), "a ${b} ");
  EXPECT_EQ(std::get<Reference>(pieces[1]).to, ReferenceTo::kItem);
  EXPECT_EQ(std::get<Reference>(pieces[3]).name, "c");
  EXPECT_EQ(std::get<std::string>(pieces[4]), "/d");
}

TEST(Reference, ThatCannotBeReadIsReported) {
  for (const auto* text : {"${steps.}", "${steps.a[}", "${steps.a[2..1]}", "${steps.a[x]}", "${steps.a",
                           "${steps.a..b}", "${steps.a[99999999999]}", "${outputs.}", "${item!}"}) {
    std::vector<BadReference> bad;
    SplitAtReferences(text, bad);
    EXPECT_THAT(bad, SizeIs(1)) << text;
  }
}

TEST(Reference, IsNoEnvironmentVariable) {
  const auto keep = kWorkflowReferences.keep;
  EXPECT_TRUE(keep("steps.a.folder"));
  EXPECT_TRUE(keep("index"));
  EXPECT_FALSE(keep("steps"));
  EXPECT_FALSE(keep("HOME"));
  EXPECT_FALSE(keep("item:-x"));
}

}  // namespace
}  // namespace slipway::launcher
