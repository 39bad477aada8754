#include "launcher/cli/remote/remotes.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "launcher/spec/load.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

class Remotes : public testing::Test {
 protected:
  Remote Find(const std::string& name, const std::string& settings) {
    WriteFileAtomically(folder_.path() / "config.yaml", settings);
    return FindRemote(name, folder_.path() / "config.yaml");
  }

  /// The text of the error for these settings.
  std::string ErrorOf(const std::string& settings) {
    try {
      Find("far", settings);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::TempDirectory folder_;
};

TEST_F(Remotes, AreReadFromTheSettings) {
  const auto remote =
      Find("far", "remotes:\n  far: {ssh: me@login, root: ~/work, program: /opt/slipway, limit: 1GB}\n");
  EXPECT_EQ(remote.destination, "me@login");
  EXPECT_EQ(remote.root, "work") << "below the home";
  EXPECT_EQ(remote.program, "/opt/slipway");
  EXPECT_EQ(remote.limit.count, 1000000000U);
}

TEST_F(Remotes, HaveDefaults) {
  const auto remote = Find("far", "remotes: {far: {}}\ntiers: {x: 'dir:/x'}\n");
  EXPECT_TRUE(remote.is_in_settings);
  EXPECT_EQ(remote.destination, "far");
  EXPECT_EQ(remote.root, "slipway");
  EXPECT_EQ(remote.program, "slipway");
}

TEST_F(Remotes, AnUnknownNameIsAHost) {
  const auto host = Find("me@host", "remotes: {far: {ssh: login}}\n");
  EXPECT_EQ(host.destination, "me@host");
  EXPECT_FALSE(host.is_in_settings);
  EXPECT_EQ(host.others, std::vector<std::string>{"far"});
  EXPECT_EQ(FindRemote("host", "/nowhere/config.yaml").destination, "host");
  EXPECT_EQ(FindRemote("host", {}).destination, "host");
}

TEST_F(Remotes, AreNoOptionsOfSsh) {
  EXPECT_THROW(FindRemote("-oProxyCommand=id", {}), Error);
  EXPECT_THROW(FindRemote("", {}), Error);
  EXPECT_NE(ErrorOf("remotes: {far: {ssh: -oProxyCommand=id}}\n").find("is no host for ssh"), std::string::npos);
}

TEST_F(Remotes, SayWhatIsWrong) {
  EXPECT_NE(ErrorOf("remotes: {far: {shs: login}}\n").find("did you mean 'ssh'"), std::string::npos);
  EXPECT_NE(ErrorOf("remotes: {far: {root: [a]}}\n").find("root is a text"), std::string::npos);
  EXPECT_NE(ErrorOf("remotes: {far: {limit: much}}\n").find("size such as 500MB"), std::string::npos);
  EXPECT_NE(ErrorOf("remotes: {far: login}\n").find("a remote is a map"), std::string::npos);
  EXPECT_NE(ErrorOf("remotes: [far]\n").find("remotes is a map of names"), std::string::npos);
  EXPECT_NE(ErrorOf("remotes: {far: {ssh: '${SLIPWAY_NEVER_SET}'}}\n").find("is not set"), std::string::npos);
  EXPECT_FALSE(ErrorOf("remotes: {far: {\n").empty());
}

}  // namespace
}  // namespace slipway::launcher
