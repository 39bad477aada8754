#include "launcher/run/context/gpu_hold.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Files can be made and locked, and get no text, as on a full disk.
class NoSpace {
 public:
  NoSpace() : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoSpace() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

class HeldGpus : public testing::Test {
 protected:
  GpuHold Hold(const std::string& names, int least, int most, const std::string& holder = "run a") const {
    Environment environment;
    environment.Set("CUDA_VISIBLE_DEVICES", names);
    return {folder_.path(), DevicesNamedIn(environment), least, most, holder};
  }
  std::vector<std::string> FreeOf(const std::string& names) const { return Hold(names, 0, 9).devices().names(); }
  test::TempDirectory folder_;
};

TEST_F(HeldGpus, AreTheFirstThatNoOtherHolds) {
  const auto first = Hold("0,1,2", 1, 1);
  const auto second = Hold("0,1,2", 1, 9);
  EXPECT_THAT(first.devices().names(), ElementsAre("0"));
  EXPECT_THAT(second.devices().names(), ElementsAre("1", "2"));
  EXPECT_THAT(Hold("0,1", 0, 2).devices().names(), IsEmpty());
}

TEST_F(HeldGpus, AreFreeAgainAfterTheirHolder) {
  { const auto first = Hold("0", 1, 1); }
  EXPECT_THAT(Hold("0", 1, 1).devices().names(), ElementsAre("0"));
}

TEST_F(HeldGpus, NameTheirHolderWhereTooFewAreFree) {
  const auto first = Hold("GPU-11,GPU-22", 1, 1, "run twins-3");
  try {
    Hold("GPU-11,GPU-22", 2, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr("2 GPUs are needed, and 1 free: GPU-11 is held by run twins-3"));
  }
  EXPECT_THAT(Hold("GPU-22", 1, 1).devices().names(), ElementsAre("GPU-22")) << "an error keeps none";
}

TEST_F(HeldGpus, NameTheOthersAlsoWithoutAnError) {
  const auto first = Hold("0,2", 2, 2, "run twins-3");
  EXPECT_EQ(Hold("0,1,2", 0, 9).others(), "GPU 0 is held by run twins-3, GPU 2 is held by run twins-3");
}

TEST_F(HeldGpus, AreHeldAlsoWhereTheirHolderCannotBeWritten) {
  const NoSpace full;
  const auto first = Hold("0,1", 1, 1);
  EXPECT_THAT(first.devices().names(), ElementsAre("0"));
  const auto second = Hold("0,1", 0, 2);
  EXPECT_THAT(second.devices().names(), ElementsAre("1"));
  EXPECT_EQ(second.others(), "GPU 0 is held by another run");
}

TEST_F(HeldGpus, AreLeftToTheirHolderWhereOtherLocksCannotBeHad) {
  { const auto all = Hold("0,1", 2, 2); }
  const auto first = Hold("0", 1, 1);
  for (const auto& lock : EntriesOf(folder_.path())) {
    if (!FileLock::TryLook(lock)) continue;
    std::filesystem::remove(lock);
    std::filesystem::create_directory(lock);  // cannot be opened to write, also by root
  }
  ::setenv("SLIPWAY_GPU_LOCKS", folder_.path().c_str(), 1);
  for (const auto* giver : {"SLURM_JOB_ID", "SLIPWAY_RUN_DIR"}) ::unsetenv(giver);
  Environment environment;
  environment.Set("CUDA_VISIBLE_DEVICES", "0,1");
  const auto hold = HoldWhatIsFree(DevicesNamedIn(environment), 2, "run b");
  ::unsetenv("SLIPWAY_GPU_LOCKS");
  EXPECT_THAT(hold.devices().names(), ElementsAre("1"));
  EXPECT_EQ(hold.others(), "GPU 0 is held by run a");
}

TEST_F(HeldGpus, LastAsLongAsTheChildThatGotThem) {
  auto hold = Hold("0,1", 2, 2);
  SpawnOptions options;
  options.argv = {"sleep", "600"};
  hold.HandTo(options);
  ASSERT_TRUE(options.environment);
  EXPECT_EQ(options.environment->Get("SLIPWAY_GPU_LOCK_FDS"), "3,4");
  auto child = ChildProcess::Spawn(options);
  hold = {};
  EXPECT_THAT(FreeOf("0,1"), IsEmpty());
  child.Signal(SIGKILL);
  child.Wait();
  EXPECT_THAT(FreeOf("0,1"), ElementsAre("0", "1"));
}

TEST_F(HeldGpus, AreKeptByWhoIsGivenThemAndNotByItsChildren) {
  auto hold = Hold("0", 1, 1);
  SpawnOptions options;
  hold.HandTo(options);
  const int inherited = ::dup(options.inherited.at(0).first);  // as a child finds it
  hold = {};
  ::setenv("SLIPWAY_GPU_LOCK_FDS", std::to_string(inherited).c_str(), 1);
  auto given = TakeGivenGpuLocks();
  EXPECT_EQ(std::getenv("SLIPWAY_GPU_LOCK_FDS"), nullptr);
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(::fcntl(inherited, F_GETFD), FD_CLOEXEC);
  {
    const auto kept = HoldGpusFor(Spec(), "a", std::move(given));
    EXPECT_THAT(FreeOf("0"), IsEmpty());
  }
  EXPECT_THAT(FreeOf("0"), ElementsAre("0"));
}

TEST_F(HeldGpus, AreNoneWhereTheVariableNamesNoOpenFile) {
  ::setenv("SLIPWAY_GPU_LOCK_FDS", "1,x,,-4,1000000", 1);
  EXPECT_THAT(TakeGivenGpuLocks(), IsEmpty());
  EXPECT_NE(::fcntl(STDOUT_FILENO, F_GETFD), -1);
}

}  // namespace
}  // namespace slipway::launcher
