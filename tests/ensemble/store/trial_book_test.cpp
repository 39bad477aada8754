#include "ensemble/store/trial_book.h"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "tests/support/privileges.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;
using test::TempDirectory;
using testing::HasSubstr;

const char* const kSpace = R"({"lr":{"log":[1e-4,1]},"a":{"choice":[true,null,"x",2]}})";

StudyRecord Study(std::int64_t trials) {
  StudyRecord study;
  study.objectives = {{"accuracy"}};
  study.trials = trials;
  study.sampler = "random";
  study.spec_hash = "h";
  study.space = kSpace;
  return study;
}

TrialRecord NewTrial(TrialNumber number, Point point) {
  TrialRecord trial;
  trial.number = number;
  trial.configuration = ConfigurationHash(point);
  trial.parameters = std::move(point);
  return trial;
}

/// `count` trials, claimed and running; those with even numbers are complete.
Changes Filled(std::int64_t count) {
  Changes changes;
  changes.time = 1000;
  changes.host = "here";
  for (TrialNumber n = 0; n < count; ++n) {
    changes.trials.push_back(NewTrial(n, {{"lr", 0.001 * static_cast<double>(n + 1)}, {"a", std::string("x")}}));
    changes.claims.push_back({n, 1});
    changes.starts.push_back({n, 1, ProcessIdentity{100 + n, 7, "boot"}});
  }
  return changes;
}

Changes Completed(std::int64_t count) {
  Changes changes;
  changes.time = 1010;
  for (TrialNumber n = 0; n < count; n += 2) {
    auto trial = NewTrial(n, {});
    trial.state = TrialState::kComplete;
    trial.objective = static_cast<double>(n % 7) / 7;
    trial.ended = 1010;
    changes.ends.push_back({1, TrialState::kComplete, Outcome::kComplete, ExitStatus{}, "", trial});
  }
  return changes;
}

void Fill(TrialBook& book, std::int64_t count) {
  book.CreateStudy(Study(count), ParseSpace(Json::parse(kSpace)));
  book.Write(Filled(count));
  book.Write(Completed(count));
}

std::string ReadErrorOf(const fs::path& folder) {
  try {
    TrialBook::OpenForReading(folder).Trials();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string WriteErrorOf(const fs::path& folder) {
  try {
    TrialBook::OpenForWriting(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrialBook, GivesBackWhatWasWritten) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  EXPECT_FALSE(book.Study().has_value());
  book.CreateStudy(Study(2), ParseSpace(Json::parse(kSpace)));
  Changes changes = Filled(1);
  const Point point = {{"lr", 2.0}, {"a", true}};
  changes.trials.push_back(NewTrial(1, point));
  book.Write(changes);
  EXPECT_EQ(book.Study()->objectives.at(0).metric, "accuracy");
  const auto trials = book.Trials();
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].state, TrialState::kRunning);
  EXPECT_EQ(trials[1].state, TrialState::kQueued);
  EXPECT_EQ(trials[1].parameters, point);
  const auto attempts = book.OpenAttempts();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].process, (ProcessIdentity{100, 7, "boot"}));
}

TEST(TrialBook, GivesBackOriginsPlacesRungsAndAnswers) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  book.CreateStudy(Study(4), ParseSpace(Json::parse(kSpace)));
  book.Write(Filled(3));
  auto trial = NewTrial(3, {{"lr", 0.4}, {"a", true}});
  trial.origin = "enqueued";
  trial.parent = 0;
  Changes changes;
  changes.time = 2000;
  changes.trials = {trial};
  changes.claims = {{3, 1, {{"node", {0, 1}, {"2", "GPU-77"}}}}};
  changes.metrics = {{1, 1, "loss", 2, {}, 0.25, 1990.0}};
  changes.rungs = {{1, 0, 1, 3, 0.25, "pause"}};
  changes.answers = {{"r1", {true, "enqueued as trial 3"}}};
  book.Write(changes);
  EXPECT_EQ(book.Trials()[3].origin, "enqueued");
  EXPECT_EQ(book.Trials()[3].parent, 0);
  EXPECT_EQ(book.Attempts(3)[0].place, "node:0,1/gpu:2,GPU-77");
  EXPECT_EQ(book.Metrics(1, 1, "loss").at(0).value, 0.25);
  EXPECT_EQ(book.Rungs().at(0).decision, "pause");
  EXPECT_EQ(book.AnswerTo("r1")->text, "enqueued as trial 3");
  EXPECT_FALSE(book.AnswerTo("r2"));
}

TEST(TrialBook, KeepsEveryKindOfValue) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  book.CreateStudy(Study(5), ParseSpace(Json::parse(R"({"v":{"choice":[0,1]}})")));
  const std::vector<Scalar> values = {std::monostate{}, false, std::int64_t{1} << 60, 0.1, std::string("1")};
  Changes changes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    changes.trials.push_back(NewTrial(static_cast<TrialNumber>(i), {{"v", values[i]}}));
  }
  book.Write(changes);
  const auto trials = book.Trials();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(trials[i].parameters[0].second, values[i]) << i;
}

TEST(TrialBook, KeepsNotANumberAndInfinities) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  Fill(book, 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Changes changes;
  changes.metrics = {{0, 1, "loss", 1, 0.5, std::nan("")},
                     {0, 1, "loss", 2, {}, kInfinity},
                     {0, 1, "loss", 3, {}, -kInfinity},
                     {0, 1, "loss", 3, {}, 0.25},
                     {0, 1, "loss", 4, {}, -kInfinity}};
  book.Write(changes);
  const auto metrics = book.Metrics(0);
  ASSERT_EQ(metrics.size(), 4u);
  EXPECT_TRUE(std::isnan(metrics[0].value));
  EXPECT_EQ(metrics[1].value, kInfinity);
  EXPECT_EQ(metrics[2].value, 0.25);  // the later report of the same step
  EXPECT_EQ(book.Metrics(0, 1, "loss").back().value, -kInfinity);
  EXPECT_TRUE(book.Metrics(0, 1, "accuracy").empty());
}

TEST(TrialBook, NeverHoldsMoreTrialsThanItsBudget) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  Fill(book, 3);
  Changes changes;
  changes.trials.push_back(NewTrial(3, {}));
  EXPECT_THROW(book.Write(changes), Error);
  EXPECT_EQ(book.Trials().size(), 3u);
  book.SetBudget(4);
  book.Write(changes);
  EXPECT_EQ(book.Trials().size(), 4u);
}

TEST(TrialBook, AFailedWriteLeavesNothingBehind) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  Fill(book, 2);
  Changes changes;
  changes.metrics.push_back({0, 1, "loss", 1, {}, 0.5});
  changes.claims.push_back({77, 1});  // no such trial
  EXPECT_THROW(book.Write(changes), Error);
  EXPECT_TRUE(book.Metrics(0).empty());
}

TEST(TrialBook, HasOneWriterAndNamesIt) {
  TempDirectory folder;
  const auto book = TrialBook::OpenForWriting(folder.path());
  try {
    TrialBook::OpenForWriting(folder.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBusy);
    EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(::getpid()) + " on host " + HostName()));
  }
}

/// What opening the book as a command says against it; nothing: it is open.
std::optional<Error> RefusalOfCommand(const fs::path& folder, std::chrono::milliseconds patience) try {
  TrialBook::OpenForWriting(folder, {.hold = Hold::kCommand, .patience = patience});
  return std::nullopt;
} catch (const Error& error) {
  return error;
}

TEST(TrialBook, WaitsForACommandThatHoldsIt) {
  TempDirectory folder;
  for (const auto hold : {Hold::kCommand, Hold::kManager}) {
    auto held = std::optional(TrialBook::OpenForWriting(folder.path(), {.hold = Hold::kCommand}));
    std::thread leaves([&] {
      SystemClock().Sleep(std::chrono::milliseconds(200));
      held.reset();
    });
    EXPECT_NO_THROW(TrialBook::OpenForWriting(folder.path(), {.hold = hold, .patience = std::chrono::hours(1)}));
    leaves.join();
  }
}

TEST(TrialBook, NamesACommandThatHoldsItTooLong) {
  TempDirectory folder;
  const auto held = TrialBook::OpenForWriting(folder.path(), {.hold = Hold::kCommand});
  const auto refusal = RefusalOfCommand(folder.path(), std::chrono::milliseconds(20));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->kind(), ErrorKind::kBusy);
  EXPECT_THAT(refusal->what(), HasSubstr("still in use by process " + std::to_string(::getpid()) + " on host "));
}

/// It would wait for hours otherwise.
TEST(TrialBook, DoesNotWaitForAManager) {
  TempDirectory folder;
  const auto managed = TrialBook::OpenForWriting(folder.path());
  const auto refusal = RefusalOfCommand(folder.path(), std::chrono::hours(24));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->kind(), ErrorKind::kBusy);
  EXPECT_THAT(refusal->what(), HasSubstr("is managed by process " + std::to_string(::getpid())));
  EXPECT_THAT(refusal->next_step(), HasSubstr("slipway trials enqueue"));
}

TEST(TrialBook, HasNoManagerWhileACommandHoldsIt) {
  TempDirectory folder;
  {
    const auto held = TrialBook::OpenForWriting(folder.path(), {.hold = Hold::kCommand});
    EXPECT_FALSE(HasManager(folder / kLockName));
  }
  const auto managed = TrialBook::OpenForWriting(folder.path());
  EXPECT_TRUE(HasManager(folder / kLockName));
}

TEST(TrialBook, IsReadWhileItIsWritten) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  Fill(book, 4);
  auto reader = TrialBook::OpenForReading(folder.path());
  EXPECT_EQ(reader.Trials()[1].state, TrialState::kRunning);
  Changes changes;
  auto trial = NewTrial(1, {});
  trial.state = TrialState::kFailed;
  changes.ends.push_back({1, TrialState::kFailed, Outcome::kFailed, ExitStatus{1, 0}, "exit status 1", trial});
  book.Write(changes);
  EXPECT_EQ(reader.Trials()[1].state, TrialState::kRunning);  // still its own moment
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials()[1].reason, "");
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials()[1].state, TrialState::kFailed);
}

TEST(TrialBook, SettledIsOnePlainFileThatOpensFromACopy) {
  TempDirectory folder, copy;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    Fill(book, 4);
    book.Settle();
    EXPECT_FALSE(fs::exists(folder / "trials.db-wal"));
    fs::copy_file(folder / "trials.db", copy / "trials.db");
  }
  EXPECT_EQ(TrialBook::OpenForReading(copy.path()).Trials().size(), 4u);
  struct stat info {};
  ASSERT_EQ(::stat((folder / "trials.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137u, 0u) << "others must not read it, nobody execute it";
}

TEST(TrialBook, OpensInAReadOnlyFolderAlsoWhenItWasNotSettled) {
  for (const bool settled : {true, false}) {
    TempDirectory folder;
    {
      auto book = TrialBook::OpenForWriting(folder.path());
      Fill(book, 4);
      if (settled) book.Settle();
    }
    fs::permissions(folder / "trials.db", fs::perms(0444));
    fs::permissions(folder.path(), fs::perms(0555));
    EXPECT_TRUE(test::AsOrdinaryUser([&] { return TrialBook::OpenForReading(folder.path()).Trials().size() == 4; }))
        << "settled " << settled;
    fs::permissions(folder.path(), fs::perms(0755));
  }
}

TEST(TrialBook, SaysWhenThereIsNone) {
  TempDirectory folder;
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("holds no trials"));
  EXPECT_THAT(ReadErrorOf(folder / "nowhere"), HasSubstr("holds no trials"));
}

TEST(TrialBook, SaysWhenAFileIsNoBook) {
  TempDirectory folder;
  WriteFile(folder / "trials.db", std::string(4096, 'x'));
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("is no SQLite database"));
  EXPECT_THAT(WriteErrorOf(folder.path()), HasSubstr("is no SQLite database"));
  EXPECT_EQ(ReadFile(folder / "trials.db"), std::string(4096, 'x'));
}

TEST(TrialBook, LeavesDatabasesOfOthersAlone) {
  TempDirectory folder;
  SQLite::Database(folder / "trials.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(a)");
  const auto before = ReadFile(folder / "trials.db");
  EXPECT_THAT(WriteErrorOf(folder.path()), HasSubstr("but not a trial book"));
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("but not a trial book"));
  EXPECT_EQ(ReadFile(folder / "trials.db"), before);
}

TEST(TrialBook, RefusesTheBookOfAnotherVersion) {
  TempDirectory folder;
  { TrialBook::OpenForWriting(folder.path()).Settle(); }
  SQLite::Database(folder / "trials.db", SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  EXPECT_THAT(WriteErrorOf(folder.path()), HasSubstr("newer Slipway (schema 99; this one knows 4)"));
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("newer Slipway"));
}

TEST(TrialBook, RefusesTheBookOfAnOlderVersionAndLeavesItAsItIs) {
  TempDirectory folder;
  { TrialBook::OpenForWriting(folder.path()).Settle(); }
  SQLite::Database(folder / "trials.db", SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 3");
  const auto before = ReadFile(folder / "trials.db");
  EXPECT_THAT(WriteErrorOf(folder.path()), HasSubstr("an older Slipway (schema 3; this one knows 4)"));
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("an older Slipway"));
  EXPECT_EQ(ReadFile(folder / "trials.db"), before);
}

TEST(TrialBook, KeepsWhatAnEndIsDecidedBy) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  book.CreateStudy(Study(2), ParseSpace(Json::parse(kSpace)));
  book.Write(Filled(2));
  Changes changes;
  changes.time = 1010;
  TrialRecord trial;
  trial.state = TrialState::kFailed;
  trial.ended = 1010;
  changes.ends.push_back({1, TrialState::kFailed, Outcome::kFailed, ExitStatus{3, 0}, "any words", trial, 5});
  trial.number = 1;
  changes.ends.push_back({1, TrialState::kFailed, Outcome::kNoObjective, ExitStatus{}, "any words", trial, {}, "loss"});
  changes.answers = {{"r1", {true, "enqueued"}}, {"r2", {false, "no"}}};
  book.Write(changes);
  EXPECT_EQ(book.Attempts(0)[0].rank, 5);
  EXPECT_EQ(book.Attempts(0)[0].missing, "");
  EXPECT_EQ(book.Attempts(1)[0].rank, std::nullopt);
  EXPECT_EQ(book.Attempts(1)[0].missing, "loss");
  EXPECT_TRUE(book.AnswerTo("r1")->accepted);
  EXPECT_EQ(book.AnswerTo("r1")->text, "enqueued");
  EXPECT_FALSE(book.AnswerTo("r2")->accepted);
  EXPECT_FALSE(book.AnswerTo("r3"));
}

TEST(TrialBook, SaysWhenItIsDamaged) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    Fill(book, 2000);
    book.Settle();
  }
  std::fstream file(folder / "trials.db", std::ios::in | std::ios::out | std::ios::binary);
  const std::string noise(4096, '\xee');
  for (int page = 5; page < 60; ++page) file.seekp(4096 * page).write(noise.data(), 4096);
  file.close();
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("is damaged"));
}

TEST(TrialBook, SaysWhenItIsTruncated) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    Fill(book, 2000);
    book.Settle();
  }
  fs::resize_file(folder / "trials.db", 3 * 4096 + 17);
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("is damaged"));
}

TEST(TrialBook, SaysWhenAnotherProgramPutInNonsense) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    Fill(book, 2);
    book.Settle();
  }
  SQLite::Database(folder / "trials.db", SQLite::OPEN_READWRITE)
      .exec("PRAGMA ignore_check_constraints=ON; UPDATE trial SET state='done'");
  EXPECT_THAT(ReadErrorOf(folder.path()), HasSubstr("unknown word 'done'"));
}

TEST(TrialBook, WritesWithoutSharedMemoryOnANetworkFileSystem) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path(), {.storage = Storage::kNetwork});
  Fill(book, 3);
  EXPECT_FALSE(fs::exists(folder / "trials.db-wal"));
  EXPECT_FALSE(fs::exists(folder / "trials.db-shm"));
  book.Settle();
  EXPECT_FALSE(fs::exists(folder / "trials.db-journal"));
  EXPECT_EQ(book.Trials().size(), 3u);
}

TEST(TrialBook, IsReadAsASnapshotWhileItIsHeldOnANetworkFileSystem) {
  using std::chrono::seconds;
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path(), {.storage = Storage::kNetwork});
    Fill(book, 3);
    book.ShareSnapshot(SteadyTime(seconds(100)));
    EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().size(), 3u);
    Changes changes = Completed(0);
    changes.ends.push_back({1, TrialState::kFailed, Outcome::kFailed, ExitStatus{1, 0}, "exit status 1", [] {
                              auto trial = NewTrial(1, {});
                              trial.state = TrialState::kFailed;
                              return trial;
                            }()});
    book.Write(changes);
    book.ShareSnapshot(SteadyTime(seconds(104)));
    EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials()[1].state, TrialState::kRunning);
    book.ShareSnapshot(SteadyTime(seconds(105)));
    EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials()[1].state, TrialState::kFailed);
    book.Settle();
  }
  EXPECT_FALSE(fs::exists(folder / kSnapshotName));
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials()[1].state, TrialState::kFailed);
}

TEST(TrialBook, ViewsRankAndCount) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  Fill(book, 10);
  SQLite::Database database(folder / "trials.db");
  EXPECT_EQ(database.execAndGet("SELECT trial FROM leaderboard WHERE rank = 1").getInt(), 6);
  EXPECT_EQ(database.execAndGet("SELECT json_extract(parameters, '$.lr') FROM leaderboard LIMIT 1").getDouble(), 0.007);
  EXPECT_EQ(database.execAndGet("SELECT trials FROM state_counts WHERE state = 'complete'").getInt(), 5);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM failures").getInt(), 0);
}

TEST(TrialBook, ReopensTenThousandTrials) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    Fill(book, 10'000);
    book.Settle();
  }
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().size(), 10'000u);
}

}  // namespace
}  // namespace slipway::ensemble
