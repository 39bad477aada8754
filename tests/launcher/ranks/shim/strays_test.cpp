// Sessions that a program has started get the signal of its end: all of them, and what they start to save does not.
//
// All processes here block SIGTERM, so the kernel shows who has got it.

#include "launcher/ranks/shim/strays.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <new>
#include <string>

#include "tests/support/temp_directory.h"

namespace slipway::shim {
namespace {

/// Shared by all processes of a test.
struct Family {
  std::atomic<pid_t> stray = 0;
  std::atomic<pid_t> in_its_group = 0;
  std::atomic<pid_t> in_a_session = 0;
  std::atomic<bool> may_fork = false;
};

void Pause() { ::usleep(1000); }

template <class Value>
Value Await(const std::atomic<Value>& value) {
  while (value == Value{}) Pause();
  return value;
}

/// The child does `body` and then waits to be killed.
template <class Body>
pid_t Fork(Body body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  body();
  while (true) ::pause();
}

bool HasGotIt(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;) {
    if (word != "ShdPnd:") continue;
    unsigned long long pending = 0;
    status >> std::hex >> pending;
    return (pending >> (SIGTERM - 1) & 1) != 0;
  }
  ADD_FAILURE() << "process " << pid << " is gone";
  return false;
}

bool HaveWeGotIt() {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1;
}

/// Starts are counted in ticks of the clock. Returns when that of the processes so far is over.
void AwaitNextTick() {
  const auto tick = [] {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<long long>(now.tv_sec) * ::sysconf(_SC_CLK_TCK) +
           static_cast<long long>(now.tv_nsec) * ::sysconf(_SC_CLK_TCK) / 1000000000;
  };
  for (const auto first = tick(); tick() == first;) Pause();
}

bool IsNone(pid_t, const void*) { return false; }

class Strays : public testing::Test {
 protected:
  Strays() {
    AdoptOrphans();
    ::setpgid(0, 0);  // a signal too many must not end ctest
    sigset_t mask;
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &mask, nullptr);
    void* memory = ::mmap(nullptr, sizeof(Family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    family_ = new (memory) Family;
  }
  ~Strays() override {
    EndStrays({0, nullptr, nullptr}, directory_.path().c_str(), 0);
    ::munmap(family_, sizeof(Family));
  }

  /// A program that leads its group, with a child that does `body`.
  template <class Body>
  void StartProgram(Body body) {
    program_ = Fork([&] {
      ::setpgid(0, 0);
      Fork([&] {
        body();
        family_->stray = ::getpid();
        Await(family_->may_fork);
        family_->in_its_group = Fork([] {});
        Fork([&] {
          ::setsid();
          family_->in_a_session = ::getpid();
        });
      });
    });
    Await(family_->stray);
  }
  void StartProgramWithASession() {
    StartProgram([] { ::setsid(); });
  }
  /// It stays a zombie; its child is now ours.
  void EndProgram() const {
    ::kill(program_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(program_), &info, WEXITED | WNOWAIT);
  }
  OrphansOf Orphans() const { return {program_, nullptr, nullptr}; }
  pid_t stray() const { return family_->stray; }

  test::TempDirectory directory_;
  Family* family_ = nullptr;
  pid_t program_ = 0;
  StraySignal signal_{SIGTERM};
};

/// A shell ends at the signal to its group, and its children get another parent.
TEST_F(Strays, GetTheSignalWhenTheirParentHasEndedMeanwhile) {
  StartProgramWithASession();
  signal_.Find(Orphans());
  EndProgram();
  signal_.Send(Orphans());
  EXPECT_TRUE(HasGotIt(stray()));
}

TEST_F(Strays, ThatWereMissedGetTheSignalLater) {
  StartProgramWithASession();
  AwaitNextTick();
  signal_.Find({0, IsNone, nullptr});
  EndProgram();
  EXPECT_FALSE(HasGotIt(stray()));
  EXPECT_TRUE(signal_.SendToMissed(Orphans()));
  EXPECT_TRUE(HasGotIt(stray()));
  EXPECT_FALSE(signal_.SendToMissed(Orphans())) << "once is enough";
}

TEST_F(Strays, MayStartProcessesToSave) {
  StartProgramWithASession();
  signal_.Find(Orphans());
  signal_.Send(Orphans());
  family_->may_fork = true;
  const pid_t in_its_group = Await(family_->in_its_group);
  const pid_t in_a_session = Await(family_->in_a_session);
  EndProgram();
  EXPECT_FALSE(signal_.SendToMissed(Orphans()));
  EXPECT_FALSE(HasGotIt(in_its_group));
  EXPECT_FALSE(HasGotIt(in_a_session));
}

TEST_F(Strays, GetTheSignalWithTheirChildren) {
  StartProgramWithASession();
  family_->may_fork = true;
  const pid_t in_its_group = Await(family_->in_its_group);
  const pid_t in_a_session = Await(family_->in_a_session);
  signal_.Find(Orphans());
  signal_.Send(Orphans());
  EXPECT_TRUE(HasGotIt(stray()));
  EXPECT_TRUE(HasGotIt(in_its_group));
  EXPECT_TRUE(HasGotIt(in_a_session));
  EXPECT_FALSE(HasGotIt(program_)) << "its group gets it from elsewhere";
}

/// Else the end of a rank would end mpirun, or other programs of a supervisor.
TEST_F(Strays, InAGroupOfOthersGetTheSignalAlone) {
  const pid_t other = Fork([] { ::setpgid(0, 0); });
  while (::getpgid(other) != other) Pause();
  for (const pid_t group : {::getpgrp(), other}) {
    family_->stray = 0;
    StartProgram([&] { ::setpgid(0, group); });
    const OrphansOf without_other{program_, IsNone, nullptr};
    StraySignal signal(SIGTERM);
    signal.Find(without_other);
    signal.Send(without_other);
    EXPECT_TRUE(HasGotIt(stray()));
  }
  EXPECT_FALSE(HasGotIt(other));
  EXPECT_FALSE(HaveWeGotIt());
}

}  // namespace
}  // namespace slipway::shim
