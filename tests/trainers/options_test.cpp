#include "trainers/common/options.h"

#include <gmock/gmock.h>

#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using ::testing::HasSubstr;

class Options : public ::testing::Test {
 protected:
  Options() {
    list_.AddInt("count", "how many (3)", count_, 1, 10);
    list_.AddNumber("rate", "how fast (0.5)", rate_, 0, 1);
    list_.AddWord("kind", "a or b (a)", kind_, {"a", "b"});
  }

  std::string RefusalOf(const std::vector<std::string>& words) const {
    try {
      list_.Parse(words);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  }

  std::int64_t count_ = 3;
  double rate_ = 0.5;
  std::string kind_ = "a";
  OptionList list_;
};

TEST_F(Options, SetWhatTheyAreGiven) {
  EXPECT_FALSE(list_.Parse({"--rate", "2.5e-1", "--kind", "b", "--count", "7"}));
  EXPECT_EQ(count_, 7);
  EXPECT_EQ(rate_, 0.25);
  EXPECT_EQ(kind_, "b");
}

TEST_F(Options, KeepTheirDefaults) {
  EXPECT_FALSE(list_.Parse({}));
  EXPECT_EQ(count_, 3);
}

TEST_F(Options, RefuseWhatIsOutOfRangeOrNoNumber) {
  EXPECT_THAT(RefusalOf({"--count", "11"}), HasSubstr("--count 11: must be a whole number from 1 to 10"));
  EXPECT_THAT(RefusalOf({"--count", "1.5"}), HasSubstr("must be a whole number"));
  EXPECT_THAT(RefusalOf({"--count", ""}), HasSubstr("must be a whole number"));
  EXPECT_THAT(RefusalOf({"--rate", "nan"}), HasSubstr("must be a number"));
  EXPECT_THAT(RefusalOf({"--rate", "1x"}), HasSubstr("must be a number"));
  EXPECT_THAT(RefusalOf({"--kind", "c"}), HasSubstr("--kind c: must be a or b"));
}

TEST_F(Options, RefuseWhatTheyDoNotKnow) {
  EXPECT_THAT(RefusalOf({"--counts", "1"}),
              HasSubstr("unknown argument '--counts'; valid are --count, --rate, --kind"));
  EXPECT_THAT(RefusalOf({"count", "1"}), HasSubstr("unknown argument 'count'"));
  EXPECT_THAT(RefusalOf({"--count"}), HasSubstr("--count needs a value"));
}

TEST_F(Options, AreReplacedByParametersOfTheSameNameAndByNoOthers) {
  list_.Override({{"count", "5"}, {"of_another_program", "x"}});
  EXPECT_EQ(count_, 5);
  EXPECT_EQ(rate_, 0.5);
  EXPECT_THROW(list_.Override({{"count", "many"}}), UsageError);
}

TEST_F(Options, AllStandInTheHelp) {
  EXPECT_TRUE(list_.Parse({"--help"}));
  for (const char* line : {"--count", "how many (3)", "--rate", "--kind"}) EXPECT_THAT(list_.Help(), HasSubstr(line));
}

}  // namespace
}  // namespace trainers
