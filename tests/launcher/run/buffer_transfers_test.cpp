// What the directives of a script copy, with real files.

#include "launcher/run/data/buffer_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

class Transfers : public testing::Test {
 protected:
  void Put(const fs::path& name, const std::string& content) const {
    MakeDirectories((directory_ / name).parent_path());
    WriteFile(directory_ / name, content);
  }
  std::string Line(const std::string& words) const { return "#BB_LUA " + words + "\n"; }
  std::string Outside(const std::string& name) const { return (directory_ / name).string(); }
  std::string In(const std::string& kind, const std::string& name, const std::string& to) const {
    return Line("stage_in type=" + kind + " source=" + Outside(name) + " destination=$BB_JOB_STRIPED/" + to);
  }
  std::string Out(const std::string& kind, const std::string& from, const std::string& name) const {
    return Line("stage_out type=" + kind + " source=$BB_JOB_STRIPED/" + from + " destination=" + Outside(name));
  }
  std::string Inside(const std::string& name) const { return ReadFile(buffer_ / name); }

  template <class Action>
  static std::string MessageOf(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  staging::StageOutOptions Merging() const {
    staging::StageOutOptions options;
    options.existing = staging::Existing::kMerge;
    return options;
  }
  void StageIn(const std::string& script, std::optional<Bytes> capacity = {}) const {
    MakeDirectories(buffer_);
    CopyIntoBuffer(script, buffer_, capacity, Merging());
  }

  test::TempDirectory directory_;
  const fs::path buffer_ = directory_ / "buffer";
};

TEST_F(Transfers, FilesListsAndDirectoriesComeIn) {
  Put("a", "1");
  Put("d/b", "22");
  Put("d/e/c", "333");
  Put("odd name $(x)", "4");
  Put("list", Outside("a") + "\n\n" + Outside("odd name $(x)") + "\n");
  StageIn(In("file", "a", "one/renamed") + In("directory", "d", "tree") + In("list", "list", "flat"));
  EXPECT_EQ(Inside("one/renamed"), "1");
  EXPECT_EQ(Inside("tree/e/c"), "333");
  EXPECT_EQ(Inside("flat/a"), "1");
  EXPECT_EQ(Inside("flat/odd name $(x)"), "4");
}

TEST_F(Transfers, NothingElseIsLeftInTheBuffer) {
  Put("a", "1");
  StageIn(In("file", "a", "a"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(buffer_)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::ElementsAre("a"));
}

TEST_F(Transfers, MoreThanTheCapacityIsRefusedBeforeTheFirstByte) {
  Put("a", std::string(600, 'a'));
  Put("d/b", std::string(500, 'b'));
  const auto script = In("file", "a", "a") + In("directory", "d", "d");
  EXPECT_THAT(MessageOf([&] { StageIn(script, Bytes{1099}); }), HasSubstr("1100 bytes into a burst buffer of 1099"));
  EXPECT_TRUE(fs::is_empty(buffer_));
  StageIn(script, Bytes{1100});
}

TEST_F(Transfers, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(MessageOf([&] { StageIn(In("file", "gone", "a")); }), HasSubstr("gone"));
  EXPECT_THAT(MessageOf([&] { StageIn(In("directory", "gone", "a")); }), HasSubstr("gone"));
  EXPECT_THAT(MessageOf([&] { StageIn(In("list", "gone", "a")); }), HasSubstr("gone"));
  Put("list", "relative\n");
  EXPECT_THAT(MessageOf([&] { StageIn(In("list", "list", "a")); }), HasSubstr("'relative'"));
  Put("a", "1");
  Put("d/a", "2");
  Put("list", Outside("a") + "\n" + Outside("d/a") + "\n");
  EXPECT_THAT(MessageOf([&] { StageIn(In("list", "list", "x")); }), HasSubstr("two files are called 'a'"));
  EXPECT_THAT(MessageOf([&] { StageIn(In("file", "d", "x")); }), HasSubstr("'" + Outside("d")));
}

TEST_F(Transfers, ResultsGoOutBesideWhatIsThere) {
  Put("buffer/out/new", "1");
  Put("buffer/out/same", "new");
  Put("buffer/single", "3");
  Put("results/old", "2");
  Put("results/same", "old");
  CopyOutOfBuffer(Out("directory", "out", "results") + Out("file", "single", "deep/er/single"), buffer_, Merging());
  EXPECT_EQ(ReadFile(directory_ / "results/new"), "1");
  EXPECT_EQ(ReadFile(directory_ / "results/old"), "2");
  EXPECT_EQ(ReadFile(directory_ / "results/same"), "new");
  EXPECT_EQ(ReadFile(directory_ / "deep/er/single"), "3");
}

TEST_F(Transfers, EntriesThatCannotBeCopiedKeepNothingElseOfTheirDirectoryBack) {
  Put("buffer/out/deep/good", "1");
  fs::create_symlink("/etc/hostname", buffer_ / "out/leads-out");
  ASSERT_EQ(::mkfifo((buffer_ / "out/deep/pipe").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf([&] { CopyOutOfBuffer(Out("directory", "out", "results"), buffer_, Merging()); }),
              testing::AllOf(HasSubstr("leads-out' is a link that leads out"), HasSubstr("pipe' is neither a file"),
                             HasSubstr("stage_out to '" + Outside("results"))));
  EXPECT_EQ(ReadFile(directory_ / "results/deep/good"), "1");
  EXPECT_FALSE(fs::is_symlink(directory_ / "results/leads-out"));
}

TEST_F(Transfers, AllThatFailAreNamed) {
  Put("buffer/first/good", "1");
  Put("buffer/second/good", "2");
  fs::create_symlink("/etc/hostname", buffer_ / "first/leads-out");
  ASSERT_EQ(::mkfifo((buffer_ / "second/pipe").c_str(), 0600), 0);
  const auto script =
      Out("directory", "first", "results") + Out("file", "gone", "x") + Out("directory", "second", "more");
  EXPECT_THAT(
      MessageOf([&] { CopyOutOfBuffer(script, buffer_, Merging()); }),
      testing::AllOf(HasSubstr("first/leads-out' is a link that leads out"), HasSubstr("second/pipe' is neither"),
                     HasSubstr("/gone"), HasSubstr("stage_out to '" + Outside("results")),
                     HasSubstr("stage_out to '" + Outside("x")), HasSubstr("stage_out to '" + Outside("more"))));
  EXPECT_EQ(ReadFile(directory_ / "results/good"), "1");
  EXPECT_EQ(ReadFile(directory_ / "more/good"), "2");
}

TEST_F(Transfers, DirectoriesWithEntriesThatCannotBeCopiedDoNotComeIn) {
  Put("d/b", "22");
  fs::create_symlink("/etc/hostname", directory_ / "d/leads-out");
  EXPECT_THAT(MessageOf([&] { StageIn(In("directory", "d", "tree")); }), HasSubstr("is a link that leads out"));
  EXPECT_TRUE(fs::is_empty(buffer_)) << "a program would start without a part of its data";
}

TEST_F(Transfers, ResultsGoOutAlsoWhereOnlyTheirBytesHaveChanged) {
  Put("results/mapped", "before");
  Put("buffer/out/mapped", "after!");
  fs::last_write_time(buffer_ / "out/mapped", fs::last_write_time(directory_ / "results/mapped"));
  CopyOutOfBuffer(Out("directory", "out", "results"), buffer_, Merging());
  EXPECT_EQ(ReadFile(directory_ / "results/mapped"), "after!");
}

TEST_F(Transfers, OneThatFailsKeepsNoOtherBack) {
  Put("buffer/out/new", "1");
  const auto script = Out("file", "gone", "x") + Out("directory", "out", "results");
  EXPECT_THAT(MessageOf([&] { CopyOutOfBuffer(script, buffer_, Merging()); }), HasSubstr("gone"));
  EXPECT_EQ(ReadFile(directory_ / "results/new"), "1");
}

}  // namespace
}  // namespace slipway::launcher
