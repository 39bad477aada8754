#include "launcher/cli/remote/remote_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/process.h"

namespace slipway::launcher {
namespace {

const Remote kRemote{.name = "far", .destination = "me@login", .root = "scratch/slip way", .program = "slipway"};

/// What a shell makes of a line, with `echo`-like programs in the place of the real ones.
std::string RunByShell(const std::string& line, const std::string& shell = "sh") {
  const auto done = RunAndCapture({.argv = {shell, "-c", line}}, std::chrono::seconds(30));
  EXPECT_TRUE(done.status.Success()) << done.errors;
  return done.output;
}

TEST(RemoteWords, LoseTheHostAndNothingElse) {
  EXPECT_EQ(WithoutHost({"--on", "far", "run", "a.yaml"}), (Words{"run", "a.yaml"}));
  EXPECT_EQ(WithoutHost({"--json", "run", "--on=far", "a.yaml"}), (Words{"--json", "run", "a.yaml"}));
  EXPECT_EQ(WithoutHost({"run", "a.yaml", "--on"}), (Words{"run", "a.yaml"}));
}

TEST(ControlPath, IsThatOfTheUser) {
  EXPECT_EQ(ControlPathIn("user me\ncontrolpath /run/me/%C\nport 22\n"), "/run/me/%C");
  EXPECT_EQ(ControlPathIn("user me\ncontrolpath none\n"), std::nullopt);
  EXPECT_EQ(ControlPathIn("controlmaster auto"), std::nullopt);
  EXPECT_EQ(ControlPathIn(""), std::nullopt);
}

TEST(SshCommand, AsksNothingAndSharesAConnection) {
  const auto words = SshCommand(kRemote, SshOptions("/run/%C"), Terminal::kForced, "exit 0");
  EXPECT_EQ(words, (Words{"ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o",
                          "ControlPath=/run/%C", "-t", "--", "me@login", "exit 0"}));
  EXPECT_EQ(SshOptions(""), (Words{"-o", "BatchMode=yes"})) << "the user's configuration decides";
}

TEST(ProjectFolder, DiffersForFoldersOfOneName) {
  const auto here = ProjectFolder("/project/me/exp", "laptop");
  EXPECT_TRUE(here.starts_with("exp-"));
  EXPECT_EQ(here, ProjectFolder("/project/me/exp", "laptop"));
  EXPECT_NE(here, ProjectFolder("/project/me/other/exp", "laptop"));
  EXPECT_NE(here, ProjectFolder("/project/me/exp", "desktop"));
}

/// The words that the program gets, one a line, when the line is carried out in a home of its own.
std::string WordsThere(Remote remote, const std::string& folder, const Words& words, const std::string& shell) {
  const auto home = RunByShell("mktemp -d");
  const std::string place = home.substr(0, home.size() - 1);
  remote.root = place + "/ro'ot $HOME";
  remote.program = "/usr/bin/printf";
  auto given = words;
  given.insert(given.begin(), {"%s\\n", "--runs-dir=x"});
  const auto line = RemoteLine(remote, folder, given);
  const auto printed = RunByShell(line, shell);
  RunByShell("rm -rf " + place);
  return printed;
}

TEST(RemoteLine, CarriesEveryWordAsItIs) {
  const Words words{"run", "a b.yaml", "--set", "x='$(touch /tmp/never)' \"`id`\"", "", "*", "\\", "!", "a\nb", "~"};
  std::string expected = "--runs-dir=x\n";
  for (const auto& word : words) expected += word + "\n";
  EXPECT_EQ(WordsThere(kRemote, "exp-1", words, "sh"), expected);
  EXPECT_EQ(WordsThere(kRemote, "", words, "bash"), expected);
}

TEST(RemoteLine, KeepsRunsInOnePlace) {
  const auto in_project = RemoteLine(kRemote, "exp-1", {"run", "a.yaml"});
  EXPECT_NE(in_project.find("--runs-dir \"$runs\" run a.yaml"), std::string::npos) << in_project;
  EXPECT_NE(RemoteLine(kRemote, "", {"ls"}).find("--runs-dir \"$runs\" ls"), std::string::npos);
  EXPECT_EQ(RemoteLine(kRemote, "", {"--runs-dir", "/x", "ls"}).find("--runs-dir \"$runs\""), std::string::npos);
}

TEST(RemoteLine, FindsARelativeProgramBelowTheHome) {
  auto remote = kRemote;
  remote.program = "opt/bin/slipway";
  EXPECT_NE(RemoteLine(remote, "", {"ls"}).find("\"$HOME\"/opt/bin/slipway"), std::string::npos);
}

TEST(RsyncCommand, LeavesOutWhatIsNotNeeded) {
  const auto words = RsyncCommand(kRemote, SshOptions(""), "/project/me/exp", "exp-1", true, Sync::kList);
  const auto has = [&](const std::string& word) { return std::ranges::find(words, word) != words.end(); };
  EXPECT_TRUE(has("--exclude=/.git/") && has("--exclude=/runs/") && has("--safe-links") && has("--protect-args"));
  EXPECT_TRUE(has("--exclude-from=/project/me/exp/.slipwayignore") && has("--dry-run"));
  EXPECT_TRUE(has("ssh -o BatchMode=yes"));
  EXPECT_EQ(words[words.size() - 2], "/project/me/exp/");
  EXPECT_EQ(words.back(), "me@login:scratch/slip way/exp-1/");
  const auto transfer = RsyncCommand(kRemote, SshOptions(""), "/project/me/exp", "exp-1", false, Sync::kTransfer);
  EXPECT_TRUE(std::ranges::find(transfer, "--dry-run") == transfer.end());
}

/// As rsync prints it with the format of RsyncCommand.
std::string Listed(const Words& lines) {
  const auto words = RsyncCommand(kRemote, SshOptions(""), "/exp", "exp-1", false, Sync::kList);
  const std::string option = "--out-format=";
  const auto format = *std::ranges::find_if(words, [&](const auto& word) { return word.starts_with(option); });
  const auto before = format.substr(option.size(), format.find('%') - option.size());
  std::string text;
  for (const auto& line : lines) text += before + line + "\n";
  return text;
}

TEST(AListing, HoldsTheFilesWithTheirSizes) {
  const auto files =
      ReadListing(Listed({"4096 ./", "12 a b.yaml", "0 empty", "4096 data/", "2000000 data/x.h5"})).files;
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].name, "a b.yaml");
  EXPECT_EQ(TotalOf(files).count, 2000012U);
  EXPECT_EQ(LargestOf(files), "data/x.h5 (2.00 MB), a b.yaml (12 B), empty (0 B)");
  EXPECT_TRUE(ReadListing("").files.empty());
}

TEST(AListing, HoldsWhatRsyncSaysBesideTheFiles) {
  const auto listing = ReadListing("skipping non-regular file \"pipe\"\n" + Listed({"12 a"}) + "4096 b\n");
  ASSERT_EQ(listing.files.size(), 1U);
  EXPECT_EQ(TextOfRemarks(listing.remarks), "rsync: skipping non-regular file \"pipe\"; 4096 b");
  EXPECT_EQ(TextOfRemarks({"a", "b", "c", "d", "e"}), "rsync: a; b; c; and 2 more");
}

TEST(AListing, HasNoFileWithoutItsSize) {
  for (const auto* line : {"12", " 12 a", "a", "99999999999999999999999 a"}) {
    EXPECT_THROW(ReadListing(Listed({line})), Error) << line;
  }
}

}  // namespace
}  // namespace slipway::launcher
