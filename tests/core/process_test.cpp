#include "core/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/clock.h"
#include "core/descriptor_limit.h"
#include "core/error.h"
#include "core/files.h"
#include "core/memory_file.h"
#include "core/process_identity.h"
#include "tests/support/forked_child.h"
#include "tests/support/temp_directory.h"

namespace {

/// A program whose start fails so, as on a file server that is gone.
struct LostProgram {
  const char* path = nullptr;
  int error = 0;
} lost_program;

}  // namespace

/// In place of that of the C library. New processes call it in the memory of this one: it may not allocate.
extern "C" __attribute__((no_sanitize("thread"))) int execve(const char* path, char* const words[],
                                                             char* const environment[]) noexcept {
  if (lost_program.path == nullptr || std::strcmp(path, lost_program.path) != 0) {
    return static_cast<int>(::syscall(SYS_execve, path, words, environment));
  }
  errno = lost_program.error;
  return -1;
}

namespace slipway {
namespace {

using namespace std::chrono_literals;
using test::TempDirectory;
using testing::Contains;
using testing::Eq;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Optional;

SpawnOptions Shell(const std::string& script) { return {.argv = {"/bin/sh", "-c", script}}; }

Seconds TimeOf(const auto& action) {
  const auto start = SystemClock().Steady();
  action();
  return SystemClock().Steady() - start;
}

bool Gone(pid_t pid) { return !IsAlive(IdentityOf(pid)); }

TEST(ExitStatus, SaysCodeOrSignal) {
  EXPECT_EQ((ExitStatus{3, 0}).Describe(), "exit status 3");
  EXPECT_EQ((ExitStatus{0, SIGKILL}).Describe(), "signal 9 (SIGKILL)");
  EXPECT_FALSE((ExitStatus{0, SIGTERM}).Success());
}

TEST(Child, ReportsItsOwnStatus) {
  EXPECT_EQ(ChildProcess::Spawn(Shell("exit 75")).Wait(), (ExitStatus{75, 0}));
  EXPECT_EQ(ChildProcess::Spawn(Shell("kill -SEGV $$")).Wait(), (ExitStatus{0, SIGSEGV}));
}

TEST(Child, TryWaitDoesNotWait) {
  auto child = ChildProcess::Spawn({.argv = {"sleep", "30"}});
  EXPECT_EQ(child.TryWait(), std::nullopt);
  EXPECT_EQ(child.WaitFor(20ms), std::nullopt);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(), (ExitStatus{0, SIGTERM}));
  EXPECT_THAT(child.TryWait(), Optional(Eq(ExitStatus{0, SIGTERM})));
}

TEST(Child, AMissingProgramIsNamed) {
  try {
    ChildProcess::Spawn({.argv = {"no-such-program-here"}});
    FAIL() << "a missing program was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("no-such-program-here"));
  }
}

TEST(Child, AFileThatIsNoProgramIsRefused) {
  TempDirectory dir;
  WriteFile(dir / "plain", "data", 0640);
  EXPECT_THROW(ChildProcess::Spawn({.argv = {dir / "plain"}}), Error);
  EXPECT_THROW(ChildProcess::Spawn({.argv = {"true"}, .working_directory = dir / "none"}), Error);
  WriteFile(dir / "neither", "true", 0750);
  EXPECT_THROW(ChildProcess::Spawn({.argv = {dir / "neither"}}), Error) << "it became a script of the shell";
}

std::string WhyNotStarted(const std::string& program) try {
  ChildProcess::Spawn({.argv = {program}});
  return "it has started";
} catch (const SystemError& error) {
  return std::strerror(error.code());
}

TEST(Child, IsLookedForInAllPlacesOfThePath) {
  TempDirectory dir;
  for (const char* place : {"a", "b", "c"}) std::filesystem::create_directory(dir / place);
  WriteFile(dir / "a/shown", "#!/bin/sh\necho a", 0640);
  WriteFile(dir / "b/shown", "#!/bin/sh\necho b", 0750);
  WriteFile(dir / "c/shown", "#!/bin/sh\necho c", 0750);
  WriteFile(dir / "a/hidden", "", 0640);
  const auto places =
      (dir / "none").string() + ":" + (dir / "a").string() + ":" + (dir / "b").string() + ":" + (dir / "c").string();
  const auto printed = test::PrintedBy([&] {
    ::setenv("PATH", places.c_str(), 1);
    ::dprintf(STDOUT_FILENO, "%s", RunAndCapture({.argv = {"shown"}}).output.c_str());
    ::dprintf(STDOUT_FILENO, "%s\n", WhyNotStarted("hidden").c_str());
    ::dprintf(STDOUT_FILENO, "%s\n", WhyNotStarted("unknown").c_str());
    ::setenv("PATH", "", 1);
    ::dprintf(STDOUT_FILENO, "%s\n", WhyNotStarted("shown").c_str());
  });
  EXPECT_EQ(printed.output, "b\nPermission denied\nNo such file or directory\nNo such file or directory\n");
}

/// What the program prints, or why it was not started. In a process of its own.
std::string StartedWith(const std::string& path, const std::string& program = "shown", LostProgram lost = {}) {
  const auto start = [&]() -> std::string {
    try {
      return RunAndCapture({.argv = {program}}).output;
    } catch (const SystemError& error) {
      return std::strerror(error.code());
    }
  };
  const auto printed = test::PrintedBy([&] {
    ::setenv("PATH", path.c_str(), 1);
    lost_program = lost;
    ::dprintf(STDOUT_FILENO, "%s", start().c_str());
  });
  return printed.output;
}

struct TwoPlaces {
  TempDirectory dir;
  std::string a = dir / "a";
  std::string b = dir / "b";

  TwoPlaces() {
    std::filesystem::create_directory(a);
    std::filesystem::create_directory(b);
    WriteFile(b + "/shown", "#!/bin/sh\nprintf b", 0750);
  }
};

TEST(Child, IsLookedForBehindFileServersThatAreGone) {
  const TwoPlaces places;
  const auto lost = places.a + "/shown";
  for (const int error : {ESTALE, ENODEV, ETIMEDOUT}) {
    EXPECT_EQ(StartedWith(places.a + ":" + places.b, "shown", {lost.c_str(), error}), "b") << std::strerror(error);
    EXPECT_EQ(StartedWith(places.a, "shown", {lost.c_str(), error}), std::strerror(error));
  }
  EXPECT_EQ(StartedWith(places.a + ":" + places.b, "shown", {lost.c_str(), EIO}), "Input/output error");
}

TEST(Child, IsLookedForBehindFilesAndNamesThatAreTooLong) {
  const TwoPlaces places;
  const auto file = places.b + "/shown";
  const auto too_long = "/" + std::string(300, 'x') + ":" + std::string(5000, '/');
  EXPECT_EQ(StartedWith(file + ":" + too_long + ":" + places.b), "b");
  EXPECT_EQ(StartedWith(too_long), "File name too long");
  EXPECT_EQ(StartedWith(places.b, std::string(300, 'x')), "File name too long");
}

TEST(Child, IsKilledWithItsGroupWhenItsOwnerGoes) {
  TempDirectory dir;
  pid_t grandchild = 0;
  {
    auto child = ChildProcess::Spawn(Shell("sleep 30 & echo $! >" + (dir / "pid").string() + "; mv " +
                                           (dir / "pid").string() + " " + (dir / "ready").string() + "; wait"));
    while (!std::filesystem::exists(dir / "ready")) SystemClock().Sleep(1ms);
    grandchild = std::stoi(ReadFile(dir / "ready"));
    EXPECT_FALSE(Gone(grandchild));
  }
  for (int i = 0; i < 30'000 && !Gone(grandchild); ++i) SystemClock().Sleep(1ms);
  EXPECT_TRUE(Gone(grandchild));
}

/// A child that obeys SIGTERM at once, and a grandchild whose answer to SIGTERM is `on_term`.
std::pair<ChildProcess, pid_t> ObedientChildWithGrandchild(const TempDirectory& dir, const std::string& on_term) {
  const auto ready = (dir / "ready").string();
  auto child =
      ChildProcess::Spawn(Shell("(trap '" + on_term + "' TERM; echo x >" + ready +
                                "; while true; do sleep 0.02; done) & echo $! >" + ready + ".pid; exec sleep 30"));
  while (!std::filesystem::exists(ready)) SystemClock().Sleep(1ms);
  while (ReadFileIfPresent(ready + ".pid").value_or("").empty()) SystemClock().Sleep(1ms);
  const pid_t grandchild = std::stoi(ReadFile(ready + ".pid"));
  return {std::move(child), grandchild};
}

TEST(Child, EndKillsWhatIgnoresTheRequest) {
  const TempDirectory dir;
  const auto ready = dir / "ready";
  auto child =
      ChildProcess::Spawn(Shell("trap '' TERM; echo x >" + ready.string() + "; while true; do sleep 0.02; done"));
  while (!std::filesystem::exists(ready)) SystemClock().Sleep(1ms);
  const auto took = TimeOf([&] { EXPECT_EQ(child.End(200ms), (ExitStatus{0, SIGKILL})); });
  EXPECT_GE(took, 190ms);
}

TEST(Child, EndLeavesNobodyOfTheGroupWhenOnlyTheLeaderObeys) {
  TempDirectory dir;
  auto [child, grandchild] = ObedientChildWithGrandchild(dir, "");
  EXPECT_EQ(child.End(2s), (ExitStatus{0, SIGTERM}));
  for (int i = 0; i < 30'000 && !Gone(grandchild); ++i) SystemClock().Sleep(1ms);
  EXPECT_TRUE(Gone(grandchild));
}

TEST(Child, EndGivesTheGroupItsGraceWhenTheLeaderIsGone) {
  TempDirectory dir;
  const auto saved = (dir / "saved").string();
  auto [child, grandchild] = ObedientChildWithGrandchild(dir, "sleep 0.1; echo done >" + saved + "; exit");
  EXPECT_LT(TimeOf([&c = child] { c.End(120s); }), 60s) << "it waited for somebody who was gone";
  EXPECT_EQ(ReadFileIfPresent(saved), "done\n") << "the grandchild was killed while it saved its work";
}

TEST(Child, StartsWithDefaultSignalsAndNothingBlocked) {
  sigset_t blocked, saved;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &saved);
  const auto handler = ::signal(SIGTERM, SIG_IGN);
  const auto captured = RunAndCapture({.argv = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  ::signal(SIGTERM, handler);
  sigprocmask(SIG_SETMASK, &saved, nullptr);
  EXPECT_EQ(captured.output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Child, StartsWithTheSoftLimitOfDescriptorsFromBeforeItWasRaised) {
  const auto printed = test::PrintedBy([] {
    const auto print_own = [] {
      rlimit own{};
      ::getrlimit(RLIMIT_NOFILE, &own);
      ::dprintf(STDOUT_FILENO, "own %d\n", static_cast<int>(own.rlim_cur));
    };
    const rlimit small{64, 128};
    ::setrlimit(RLIMIT_NOFILE, &small);
    RaiseDescriptorLimit();
    print_own();
    ::dprintf(STDOUT_FILENO, "%s", RunAndCapture(Shell("ulimit -Sn; ulimit -Hn")).output.c_str());
    print_own();
  });
  EXPECT_EQ(printed.output, "own 128\n64\n128\nown 128\n");
}

TEST(Child, LeavesOtherThreadsTheRaisedLimitOfDescriptorsWhileItStarts) {
  const auto printed = test::PrintedBy([] {
    const rlimit small{64, 128};
    ::setrlimit(RLIMIT_NOFILE, &small);
    RaiseDescriptorLimit();
    std::vector<UniqueFd> open;
    while (open.empty() || open.back().get() < 80) open.push_back(OpenFile("/dev/null", O_RDONLY));
    std::atomic<bool> stop = false;
    int refused = 0;
    std::thread other([&] {
      while (!stop) refused += UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)) ? 0 : 1;
    });
    for (int i = 0; i < 50; ++i) ChildProcess::Spawn({.argv = {"true"}}).Wait();
    stop = true;
    other.join();
    ::dprintf(STDOUT_FILENO, "refused: %d\n", refused);
  });
  EXPECT_EQ(printed.output, "refused: 0\n");
}

TEST(Child, GetsTheDescriptorsItWasPromised) {
  TempDirectory dir;
  WriteFile(dir / "a", "A");
  WriteFile(dir / "b", "B");
  const auto a = OpenFile(dir / "a", O_RDONLY);
  const auto b = OpenFile(dir / "b", O_RDONLY);
  // Each number is the other one's source: a naive order of dup2 loses one of them.
  auto options = Shell("cat <&" + std::to_string(b.get()) + "; cat <&" + std::to_string(a.get()));
  options.inherited = {{a.get(), b.get()}, {b.get(), a.get()}};
  EXPECT_EQ(RunAndCapture(options).output, "AB");
}

TEST(Child, InheritsNoOtherDescriptor) {
  TempDirectory dir;
  const auto open = OpenFile(dir / "x", O_RDWR | O_CREAT);
  const auto captured = RunAndCapture({.argv = {"ls", "-l", "/proc/self/fd"}});
  EXPECT_THAT(captured.output, HasSubstr("0 -> /dev/null"));
  EXPECT_THAT(captured.output, testing::Not(HasSubstr(dir.path().string())));
}

TEST(Child, ReadsNothingFromTheTerminal) { EXPECT_EQ(RunAndCapture({.argv = {"cat"}}).output, ""); }

TEST(Child, RunsInTheDirectoryAndEnvironmentItIsGiven) {
  TempDirectory dir;
  auto options = Shell("pwd -P; echo \"$FIRST|$SECOND|${HOME-unset}\"");
  options.working_directory = dir.path();
  options.environment = Environment().Set("FIRST", "old").Set("SECOND", "a b=c\n").Set("FIRST", "new");
  EXPECT_EQ(RunAndCapture(options).output, std::filesystem::canonical(dir.path()).string() + "\nnew|a b=c\n|unset\n");
}

TEST(Environment, SetReplacesAndUnsetRemovesOnlyThatName) {
  auto environment = Environment().Set("AB", "1").Set("A", "2").Set("A", "3");
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"AB=1", "A=3"}));
  environment.Unset("A");
  EXPECT_EQ(environment.Get("A"), std::nullopt);
  EXPECT_EQ(environment.Get("AB"), "1");
  EXPECT_TRUE(Environment::Inherited().Get("PATH").has_value());
  environment.Set("ABC", "4").Set("B", "AB").UnsetAll("AB");
  EXPECT_EQ(environment.entries(), std::vector<std::string>{"B=AB"});
}

TEST(RunAndCapture, DrainsTenMegabytesOnBothPipes) {
  const auto captured = RunAndCapture(Shell("head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2; exit 4"), 30s);
  EXPECT_EQ(captured.output.size(), 10'000'000u);
  EXPECT_EQ(captured.errors.size(), 10'000'000u);
  EXPECT_EQ(captured.status, (ExitStatus{4, 0}));
  EXPECT_FALSE(captured.timed_out);
}

TEST(RunAndCapture, KillsTheWholeGroupAtTheLimitAndKeepsWhatWasPrinted) {
  std::string output;
  for (auto limit = 200ms; output.empty() && limit < 30s; limit *= 4) {  // the first may be too short to print it
    const auto took = TimeOf([&] {
      const auto captured = RunAndCapture(Shell("echo early; sleep 600 & sleep 600"), limit);
      EXPECT_TRUE(captured.timed_out);
      EXPECT_EQ(captured.status.signal, SIGKILL);
      output = captured.output;
    });
    EXPECT_LT(took, limit + 30s);
  }
  EXPECT_EQ(output, "early\n");
}

TEST(RunAndCapture, KillsADaemonisedChildThatHoldsThePipe) {
  const auto took = TimeOf([] { EXPECT_TRUE(RunAndCapture(Shell("sleep 600 & exit 0"), 200ms).timed_out); });
  EXPECT_LT(took, 30s);
}

TEST(ProcessIdentity, TellsALiveProcessFromAnEndedOne) {
  auto child = ChildProcess::Spawn({.argv = {"sleep", "30"}});
  const auto identity = IdentityOf(child.pid());
  EXPECT_GT(identity.start_time, 0u);
  EXPECT_TRUE(IsAlive(identity));
  child.Signal(SIGKILL);
  while (!child.TryWait()) SystemClock().Sleep(1ms);
  EXPECT_FALSE(IsAlive(identity));
  EXPECT_EQ(IdentityOf(child.pid()).start_time, 0u);
}

TEST(ProcessIdentity, AZombieHasEnded) {
  auto child = ChildProcess::Spawn({.argv = {"sleep", "30"}});
  const auto identity = IdentityOf(child.pid());
  child.Signal(SIGKILL);
  for (int i = 0; i < 30'000 && IsAlive(identity); ++i) SystemClock().Sleep(1ms);
  EXPECT_FALSE(IsAlive(identity));
}

TEST(ProcessIdentity, AnotherStartTimeOrBootIsAnotherProcess) {
  auto self = IdentityOf(::getpid());
  ASSERT_TRUE(IsAlive(self));
  EXPECT_EQ(ProcessIdentityFromJson(ToJson(self)), self);
  auto later = self;
  ++later.start_time;
  EXPECT_FALSE(IsAlive(later));
  auto other_boot = self;
  other_boot.boot_id = "another";
  EXPECT_FALSE(IsAlive(other_boot));
  EXPECT_FALSE(IsAlive(ProcessIdentity{}));
}

TEST(ProcessIdentity, ReadsAProgramWhoseNameLooksLikeFields) {
  TempDirectory dir;
  const auto program = dir / "x) R 1 2 (";
  std::filesystem::copy_file("/bin/sleep", program);
  auto child = ChildProcess::Spawn({.argv = {program, "30"}});
  EXPECT_TRUE(IsAlive(IdentityOf(child.pid())));
  EXPECT_GE(IdentityOf(child.pid()).start_time, IdentityOf(::getpid()).start_time);
}

TEST(ProcessIds, AreThoseOfThisProcessAndOfItsChildren) {
  auto child = ChildProcess::Spawn({.argv = {"sleep", "60"}});
  EXPECT_THAT(ProcessIds(), IsSupersetOf({::getpid(), child.pid()}));
  const auto pid = child.pid();
  child.Signal(SIGKILL);
  child.Wait();
  EXPECT_THAT(ProcessIds(), Not(Contains(pid)));
}

/// What a program that stays behind holds open delays nobody.
TEST(FileInMemory, TakesWhatAProcessPrintsAndIsReadFromItsStart) {
  const auto said = FileInMemory();
  auto options = Shell("echo first; echo second >&2; sleep 60 &");
  options.stdout_fd = options.stderr_fd = said.get();
  EXPECT_EQ(ChildProcess::Spawn(options).Wait().code, 0);
  EXPECT_EQ(TextOf(said), "first\nsecond\n");
  EXPECT_EQ(TextOf(said), "first\nsecond\n");
  EXPECT_EQ(TextOf(FileInMemory("held")), "held");
}

TEST(FindProgram, LooksOnThePathAndForExecutableFilesOnly) {
  EXPECT_TRUE(FindProgram("sh").has_value());
  EXPECT_THAT(FindProgram("/bin/sh"), Optional(Eq("/bin/sh")));
  EXPECT_EQ(FindProgram("no-such-program-here"), std::nullopt);
  EXPECT_EQ(FindProgram(""), std::nullopt);
  EXPECT_EQ(FindProgram("/tmp"), std::nullopt);
  EXPECT_EQ(FindProgram("/etc/passwd"), std::nullopt);
}

}  // namespace
}  // namespace slipway
