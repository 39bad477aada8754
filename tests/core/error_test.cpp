#include "core/error.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/output.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Error, TextHoldsMessageContextAndNextStepInThisOrder) {
  Error error(ErrorKind::kUsage, "unknown field 'nods'", "did you mean 'nodes'?");
  error.AddContext("in 'launch'");
  error.AddContext("while reading 'a.yaml'");
  EXPECT_STREQ(error.what(),
               "unknown field 'nods'\n  in 'launch'\n  while reading 'a.yaml'\n  next: did you mean 'nodes'?");
}

TEST(Error, TextIsOnlyTheMessageWhenThereIsNothingElse) {
  EXPECT_STREQ(Error(ErrorKind::kFailed, "it broke").what(), "it broke");
}

TEST(Error, KindIsTheExitCode) {
  EXPECT_EQ(Error(ErrorKind::kFailed, "").exit_code(), 1);
  EXPECT_EQ(Error(ErrorKind::kUsage, "").exit_code(), 2);
  EXPECT_EQ(Error(ErrorKind::kEnvironment, "").exit_code(), 3);
  EXPECT_EQ(Error(ErrorKind::kBusy, "").exit_code(), 4);
  EXPECT_EQ(Error(ErrorKind::kTryAgain, "").exit_code(), 75);
  EXPECT_EQ(Error(ErrorKind::kInterrupted, "").exit_code(), 130);
}

TEST(Error, DocumentCarriesEveryPart) {
  Error error(ErrorKind::kBusy, "held by another run", "wait for it");
  error.AddContext("while staging 'train'");
  const auto document = ErrorDocument(error);
  EXPECT_EQ(document["schema"], "slipway.error/1");
  EXPECT_EQ(document["kind"], "busy");
  EXPECT_EQ(document["exit_code"], 4);
  EXPECT_EQ(document["message"], "held by another run");
  EXPECT_EQ(document["context"], Json::array({"while staging 'train'"}));
  EXPECT_EQ(document["next_step"], "wait for it");
}

TEST(SystemError, KeepsTheCodeAndSaysItsText) {
  try {
    errno = ENOSPC;
    ThrowErrno("cannot write '/x'", "make room");
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOSPC);
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_STREQ(error.what(), "cannot write '/x': No space left on device\n  next: make room");
    EXPECT_EQ(SystemError(ENOENT, "cannot open '/x'").next_step(), "check the path");
    EXPECT_THAT(SystemError(EMFILE, "cannot open '/x'").next_step(), HasSubstr("hard limit (ulimit -Hn)"));
    EXPECT_THAT(SystemError(EFBIG, "cannot write '/x'").next_step(), HasSubstr("ulimit -f"));
    EXPECT_FALSE(SystemError(EINVAL, "cannot open '/x'").next_step().empty());
  }
}

TEST(CheckErrno, ReturnsWhatIsNotNegativeAndThrowsOtherwise) {
  EXPECT_EQ(CheckErrno(7, "nothing"), 7);
  errno = EACCES;
  EXPECT_THROW(CheckErrno(-1, "cannot open '/x'"), SystemError);
}

TEST(WithContext, AddsTheLineToWhatLeaves) {
  try {
    WithContext("while staging dataset 'train'", []() -> int { throw Error(ErrorKind::kEnvironment, "disk is full"); });
    FAIL() << "the error was swallowed";
  } catch (const Error& error) {
    EXPECT_THAT(error.context(), testing::ElementsAre("while staging dataset 'train'"));
    EXPECT_THAT(error.what(), StartsWith("disk is full\n"));
  }
}

TEST(WithContext, KeepsTheTypeOfTheError) {
  EXPECT_THROW(WithContext("outside", [] { throw SystemError(ENOENT, "cannot open '/x'"); }), SystemError);
}

TEST(WithContext, ReturnsTheValue) {
  EXPECT_EQ(WithContext("unused", [] { return 3; }), 3);
}

}  // namespace
}  // namespace slipway
