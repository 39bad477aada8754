// What mpirun and srun learn of the end of a rank: the exit status of its shim.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "core/install.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::shim {
namespace {

using testing::HasSubstr;

class ShimStatus : public testing::Test {
 protected:
  /// Returns when the program runs, or has ended.
  void Start(const std::string& script, bool own_status = false) {
    said_.clear();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    SpawnOptions options;
    options.argv = {HelperProgram("slipway-rank"),
                    "--log-dir",
                    directory_.path(),
                    "--channel-fd",
                    "3",
                    "--grace-ms",
                    "60000",
                    "--own-status",
                    own_status ? "1" : "0",
                    "--",
                    "sh",
                    "-c",
                    script};
    options.inherited = {{theirs.get(), 3}};
    shim_.emplace(ChildProcess::Spawn(options));
    Send("go\n");
    while (said_.find("started") == std::string::npos && Listen()) {
    }
  }
  void Send(const std::string& line) {
    ASSERT_EQ(::send(channel_.get(), line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }
  void Signal(int signal) { shim_->Signal(signal); }
  ExitStatus End() {
    while (Listen()) {
    }
    return shim_->Wait();
  }

  test::TempDirectory directory_;
  std::string said_;

 private:
  /// False when the shim has no more to say.
  bool Listen() {
    char buffer[256];
    const ssize_t count = ::recv(channel_.get(), buffer, sizeof buffer, 0);
    if (count > 0) said_.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  UniqueFd channel_;
  std::optional<ChildProcess> shim_;
};

/// Any other status, and Open MPI's mpirun kills the shims of ranks that still save.
TEST_F(ShimStatus, IsGoodAfterAnEndThatWasRequested) {
  for (const auto* script : {"exec sleep 60", "trap 'exit 3' TERM; while :; do sleep 0.01; done"}) {
    Start(script);
    Send("stop\n");
    EXPECT_EQ(End(), ExitStatus()) << script;
    EXPECT_THAT(said_, HasSubstr("asked 0\nexited ")) << script;
    EXPECT_THAT(said_, testing::Not(HasSubstr("exited 0 0"))) << "the manager knows";
  }
}

/// So the manager knows which ranks mpirun has ended.
TEST_F(ShimStatus, IsToldWithTheSignalThatTheShimGot) {
  Start("exec sleep 60");
  Signal(SIGTERM);
  EXPECT_EQ(End(), ExitStatus());
  EXPECT_THAT(said_, HasSubstr("asked 15\nexited 0 15\n"));
}

/// For srun, and so for Slurm's accounting.
TEST_F(ShimStatus, IsThatOfAProgramThatFailedWhereItIsAskedFor) {
  const std::pair<const char*, int> ends[] = {{"exit 3", 3}, {"kill -9 $$", 128 + 9}, {"exit 75", 0}};
  for (const auto& [script, code] : ends) {
    Start(script, true);
    EXPECT_EQ(End(), (ExitStatus{code, 0})) << script;
  }
}

/// The manager learns it, and ends the other ranks.
TEST_F(ShimStatus, IsGoodAfterAFailure) {
  const std::pair<const char*, const char*> ends[] = {
      {"exit 3", "exited 3 0"}, {"kill -9 $$", "exited 0 9"}, {"exit 75", "exited 75 0"}};
  for (const auto& [script, words] : ends) {
    Start(script);
    EXPECT_EQ(End(), ExitStatus()) << script;
    EXPECT_THAT(said_, HasSubstr(words)) << script;
  }
}

}  // namespace
}  // namespace slipway::shim
