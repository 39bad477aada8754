#include "launcher/run_folder/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "tests/support/forked_child.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;

class Runs : public testing::Test {
 protected:
  RunFolder Create(const std::string& name = "exp") const { return RunFolder::Create(directory_.path(), name, false); }

  std::string ErrorOf(const std::string& selector) const {
    try {
      FindRun(directory_.path(), selector);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
};

TEST_F(Runs, KeepTheirState) {
  const auto run = Create();
  auto state = run.ReadState();
  EXPECT_EQ(state.phase, Phase::kCreated);
  EXPECT_EQ(state.run, run.id());
  state.attempt = 3;
  EndAs(state, Phase::kFailed, cause::RankFailed{1, "n\xff", {3, 0}});
  run.WriteState(state);
  EXPECT_EQ(run.ReadState().attempt, 3);
  EXPECT_TRUE(Is<cause::RankFailed>(run.ReadState().cause));
  EXPECT_EQ(run.ReadState().phase, Phase::kFailed);
}

TEST_F(Runs, AreClosedToOthers) {
  const auto run = Create();
  struct stat info {};
  ASSERT_EQ(::stat(run.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0027, 0u);
  ASSERT_EQ(::stat((run.path() / "state.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137, 0u);
}

TEST_F(Runs, AreFoundByIdPrefixLastAndPath) {
  const auto first = Create("alpha");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // times are kept in milliseconds
  const auto second = Create("beta");
  EXPECT_EQ(FindRun(directory_.path(), first.id()).path(), first.path());
  EXPECT_EQ(FindRun(directory_.path(), "alp").path(), first.path());
  EXPECT_EQ(FindRun(directory_.path(), "last").path(), second.path());
  EXPECT_EQ(FindRun(fs::path("/nonexistent"), first.path().string()).path(), first.path());
  EXPECT_EQ(ListRuns(directory_.path()).size(), 2u);
}

TEST_F(Runs, BehindLinksHaveTheIdsOfTheirTargets) {
  const test::TempDirectory elsewhere;
  const auto run = RunFolder::Create(elsewhere.path(), "far", false);
  std::filesystem::create_directory_symlink(run.path(), directory_.path() / "near");
  EXPECT_EQ(FindRun(directory_.path(), run.id()).path(), run.path());
  EXPECT_THAT(ErrorOf("near"), HasSubstr("no run 'near'"));
}

TEST_F(Runs, ThatCannotBeFoundAreExplained) {
  EXPECT_THAT(ErrorOf("last"), HasSubstr("there is no run yet"));
  Create("same");
  EXPECT_THAT(ErrorOf(""), HasSubstr("the name of the run is empty")) << "it fits the only one";
  EXPECT_THAT(ErrorOf("."), HasSubstr("'.' is not a run folder"));
  Create("same");
  EXPECT_THAT(ErrorOf("same"), HasSubstr("'same' fits 2 runs: same-"));
  EXPECT_THAT(ErrorOf("other"), HasSubstr("slipway ls"));
  EXPECT_THAT(ErrorOf("./nowhere"), HasSubstr("not a run folder"));
}

TEST_F(Runs, ThatFitInGreatNumberAreNotAllNamed) {
  std::vector<std::string> ids;
  for (int i = 0; i < 9; ++i) ids.push_back(Create("same").id());
  const auto text = ErrorOf("same");
  EXPECT_THAT(text, HasSubstr("'same' fits 9 runs, the newest 5: same-"));
  EXPECT_EQ(std::ranges::count_if(ids, [&](const auto& id) { return text.find(id) != std::string::npos; }), 5);
}

TEST_F(Runs, AreNamedInHintsAsTheyAreFound) {
  const auto run = Create();
  EXPECT_EQ(run.selector(), run.id());
  const auto path = run.path().string();
  EXPECT_EQ(FindRun(fs::path("elsewhere"), path).selector(), path);
  const auto moved = run.path().parent_path() / "two words";
  fs::rename(run.path(), moved);
  EXPECT_EQ(FindRun(fs::path("elsewhere"), moved.string()).selector(), "'" + moved.string() + "'");
}

TEST_F(Runs, OfADirectoryThatIsGivenAreNamedByTheirPaths) {
  const auto run = Create();
  const RunsDirectory here(directory_.path());
  const RunsDirectory given(directory_.path(), "other");
  EXPECT_EQ(here.Name(run).selector(), run.id());
  EXPECT_EQ(given.Name(run).selector(), "other/" + run.id());
  EXPECT_EQ(FindRun(given, "last").selector(), "other/" + run.id());
  EXPECT_EQ(FindRun(given, run.id()).selector(), "other/" + run.id());
  EXPECT_EQ(ListRuns(given).at(0).selector(), "other/" + run.id());
  const auto of_step = RunFolder::Create(run.path() / "steps" / "a", "a", false);
  EXPECT_EQ(given.Name(of_step).selector(), of_step.path().string()) << "commands do not find its id";
  EXPECT_EQ(here.Name(of_step).selector(), of_step.path().string());
}

TEST_F(Runs, SayWhenTheirStateIsDamaged) {
  const auto run = Create();
  for (const auto& [text, why] : {std::pair("", "it is no JSON document"),
                                  {"{", "it is no JSON document"},
                                  {"[]", "it is no JSON object"},
                                  {"{}", "key 'run' not found"},
                                  {"{\"run\": 3}", "type must be string"}}) {
    WriteFile(run.path() / "state.json", text);
    try {
      run.ReadState();
      ADD_FAILURE() << "it was read: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("state.json is damaged: ")) << text;
      EXPECT_THAT(error.message(), HasSubstr(why)) << text;
      EXPECT_THAT(error.message(), Not(HasSubstr("json.exception"))) << text;
      EXPECT_THAT(error.next_step(), Not(ContainsRegex("slipway run [^ ]*/")))
          << "its paths are relative to another folder";
    }
  }
}

TEST_F(Runs, OfAnotherVersionAreLeftToIt) {
  const auto run = Create();
  const auto state = Json::parse(ReadFile(run.path() / "state.json"));
  auto later = state;
  later["schema"] = "slipway.state/2";
  auto unknown_cause = state;
  unknown_cause["cause"] = {{"kind", "struck_by_lightning"}};
  for (const auto& [other, why] :
       {std::pair(later, "was written by another version of Slipway (schema slipway.state/2)"),
        {unknown_cause, "knows no cause of an end 'struck_by_lightning'"}}) {
    WriteFile(run.path() / "state.json", other.dump());
    try {
      run.ReadState();
      ADD_FAILURE() << "it was read: " << other;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(why));
      EXPECT_EQ(error.next_step(), "use the version of Slipway that wrote it");
    }
  }
}

TEST_F(Runs, OfVersionsThatKeptOnlyWordsAreRefused) {
  const auto run = Create();
  auto state = Json::parse(ReadFile(run.path() / "state.json"));
  state.erase("cause");
  WriteFile(run.path() / "state.json", state.dump());
  try {
    run.ReadState();
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("an earlier version of Slipway: it has no 'cause'"));
    EXPECT_THAT(error.what(), HasSubstr("slipway run FILE"));
  }
}

TEST_F(Runs, ReadAsLostWhenTheirManagerIsGone) {
  const auto run = Create();
  {
    test::ForkedChild manager([&] {
      auto state = run.ReadState();
      state.phase = Phase::kRunning;
      state.manager = IdentityOf(::getpid());
      run.WriteState(state);
    });
    EXPECT_EQ(run.ReadState().phase, Phase::kRunning);
  }
  EXPECT_EQ(run.ReadState().phase, Phase::kLost);
  EXPECT_TRUE(Is<cause::ManagerLost>(run.ReadState().cause));
  EXPECT_THAT(run.ReadState().reason, HasSubstr("slipway resume"));
  const auto copy = directory_ / "copy";
  fs::copy(run.path(), copy, fs::copy_options::recursive);
  EXPECT_THAT(FindRun(directory_.path(), "copy").ReadState().reason, EndsWith("slipway resume copy"));
  EXPECT_THAT(FindRun(fs::path("elsewhere"), copy.string()).ReadState().reason,
              EndsWith("slipway resume " + copy.string()));
}

TEST_F(Runs, AreNamedInTheirReasonAsTheyAreFound) {
  const auto run = Create();
  auto state = run.ReadState();
  EndAs(state, Phase::kCancelled, cause::JobRemoved{12});
  run.WriteState(state);
  EXPECT_EQ(FindRun(directory_.path(), run.id()).ReadState().reason, state.reason);
  const auto path = run.path().string();
  EXPECT_THAT(FindRun(fs::path("elsewhere"), path).ReadState().reason, EndsWith("slipway resume " + path));
  state.reason = "words of an earlier version";
  run.WriteState(state);
  EXPECT_THAT(FindRun(fs::path("elsewhere"), path).ReadState().reason, EndsWith("slipway resume " + path));
}

TEST_F(Runs, OfAJobAreNotLostWithTheirManager) {
  const auto run = Create();
  {
    test::ForkedChild manager([&] {
      auto state = run.ReadState();
      state.phase = Phase::kRunning;
      state.manager = IdentityOf(::getpid());
      state.batch_job = 12;
      run.WriteState(state);
    });
    EXPECT_EQ(AboutGoneManager(run.ReadState()), "");
  }
  EXPECT_EQ(run.ReadState().phase, Phase::kRunning) << "Slurm may have put the job back into the queue";
  EXPECT_TRUE(ManagerIsGone(run.ReadState()));
  EXPECT_THAT(AboutGoneManager(run.ReadState()), HasSubstr("is gone"));
}

TEST_F(Runs, HaveOneManagerUntilItDies) {
  const auto run = Create();
  {
    std::optional<FileLock> lock;
    test::ForkedChild manager([&] { lock = run.TakeManagerLock(); });
    try {
      run.TakeManagerLock();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBusy);
      EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(manager.pid())));
    }
  }
  EXPECT_NO_THROW(run.TakeManagerLock());
}

/// Its sleep lasts until another process has looked at a lock.
class SleepBesideALook : public Clock {
 public:
  explicit SleepBesideALook(const fs::path& lock) : look_(FileLock::TryLook(lock)) {}
  bool looks() const { return look_.has_value(); }
  WallTime Now() override { return {}; }
  SteadyTime Steady() override { return {}; }
  void Sleep(std::chrono::nanoseconds) override { look_.reset(); }

 private:
  std::optional<FileLock> look_;
};

TEST_F(Runs, GetTheirManagerWhileOthersLookAtItsLock) {
  const auto run = Create();
  run.TakeManagerLock();  // it makes the file
  SleepBesideALook clock(run.path() / kManagerLock);
  ASSERT_TRUE(clock.looks());
  EXPECT_NO_THROW(run.TakeManagerLock({}, clock));
}

/// Its sleeps take no time. In each, `during` is called with what was slept before.
class CountedSleeps : public Clock {
 public:
  explicit CountedSleeps(std::function<void(std::chrono::nanoseconds)> during) : during_(std::move(during)) {}
  std::chrono::nanoseconds slept() const { return slept_; }
  WallTime Now() override { return {}; }
  SteadyTime Steady() override { return {}; }
  void Sleep(std::chrono::nanoseconds longest) override {
    during_(slept_);
    slept_ += longest;
  }

 private:
  std::function<void(std::chrono::nanoseconds)> during_;
  std::chrono::nanoseconds slept_{0};
};

TEST_F(Runs, AreWaitedForAfterTheirEndUntilAnotherManagerTakesThemUp) {
  const auto run = Create();
  const auto lock = run.TakeManagerLock();
  const auto taken_up = [&](std::chrono::nanoseconds slept) {
    auto state = run.ReadState();
    ++state.attempt;
    if (slept == std::chrono::seconds(1)) run.WriteState(state);
  };
  CountedSleeps while_it_runs(taken_up);
  EXPECT_THROW(run.TakeManagerLock(run.ReadState(), while_it_runs), Error);
  EXPECT_LT(while_it_runs.slept(), std::chrono::seconds(1));
  auto ended = run.ReadState();
  ended.phase = Phase::kFailed;
  run.WriteState(ended);
  CountedSleeps until_taken_up(taken_up);
  EXPECT_THROW(run.TakeManagerLock(ended, until_taken_up), Error);
  EXPECT_EQ(until_taken_up.slept(), std::chrono::milliseconds(1050));
  CountedSleeps to_the_end([](std::chrono::nanoseconds) {});
  EXPECT_THROW(run.TakeManagerLock(run.ReadState(), to_the_end), Error);
  EXPECT_EQ(to_the_end.slept(), std::chrono::seconds(30));
}

TEST_F(Runs, RecordEvents) {
  const auto run = Create();
  run.AppendEvent("staged", Json{{"bytes", 3}});
  run.AppendEvent("running", Json::object());
  const auto text = ReadFile(run.path() / "events.jsonl");
  const auto first = Json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["event"], "staged");
  EXPECT_EQ(first["bytes"], 3);
  EXPECT_TRUE(first.contains("time"));
}

}  // namespace
}  // namespace slipway::launcher
