#include "launcher/workflow/reference.h"

#include <gmock/gmock.h>

#include "launcher/spec/environment_references.h"

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

TEST(Reference, ThatIsMeantAndIsNoneIsExplained) {
  const auto why = kWorkflowReferences.why_not;
  const std::string of_foreach =
      " is no reference of a workflow: in a step with foreach, its value is ${item} and its number ${index}";
  EXPECT_EQ(why("foreach.x"), "'${foreach.x}'" + of_foreach);
  EXPECT_EQ(why("foreach"), "'${foreach}'" + of_foreach);
  EXPECT_EQ(why("output.o"), "'${output.o}' is no reference of a workflow; did you mean ${outputs.o}?");
  EXPECT_EQ(why("output.o:-d"), "'${output.o:-d}' is no reference of a workflow; did you mean ${outputs.o}?");
  EXPECT_EQ(why("Steps.a[0]"), "'${Steps.a[0]}' is no reference of a workflow; did you mean ${steps.a[0]}?");
  const std::string not_set = " is no reference of a workflow, and no environment variable that is set; did you mean ";
  EXPECT_EQ(why("output"), "'${output}'" + not_set + "${outputs.NAME}?");
  EXPECT_EQ(why("steps"), "'${steps}'" + not_set + "${steps.NAME.outputs.NAME}?");
  const std::string forms =
      " is no reference of a workflow: those are ${item}, ${index}, ${inputs.NAME}, ${outputs.NAME} and "
      "${steps.NAME.outputs.NAME}; write $${ for a literal ${";
  EXPECT_EQ(why("items[@]"), "'${items[@]}'" + forms);
  EXPECT_EQ(why("file%.txt"), "'${file%.txt}'" + forms);
}

TEST(Reference, IsNotMeantByTheNameOfAVariable) {
  for (const auto* name : {"TERM", "STEPS", "OUTPUT", "HOME_X", "learning_rate", "my-name"}) {
    EXPECT_EQ(kWorkflowReferences.why_not(name), "") << name;
  }
}

}  // namespace
}  // namespace slipway::launcher
