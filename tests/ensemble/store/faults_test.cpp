// What a manager meets when its disk is full or its book is held: it waits, says so, and goes on. When its book is
// closed or damaged: an error that names thing, reason and next step. The book keeps all that was acknowledged.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/privileges.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;
using test::TempDirectory;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kTrials = 400;

EnsembleOptions Options(int trials = kTrials) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = 4;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

Script ReportLr(TrialNumber, int, const Json& parameters) { return Reports("accuracy", parameters.at("lr")); }

/// Keeps what was acknowledged.
class Ledger : public CountingObserver {
 public:
  void AttemptEnded(const TrialRecord& trial, TrialState, const TrialRecord*) override {
    if (trial.state == TrialState::kComplete) results.emplace(trial.number, *trial.objective);
    if (after_each) after_each();
  }
  void Paused(const Pause& pause) override {
    pauses.push_back(pause.why);
    causes.insert(pause.cause);
    if (when_paused) when_paused();
  }
  void GoesOn() override { ++goes_on; }

  std::map<TrialNumber, double> results;
  std::function<void()> after_each;
  std::vector<std::string> pauses;
  std::set<PauseCause> causes;
  std::function<void()> when_paused;
  int goes_on = 0;
};

/// kKept: its attempts hang on one process, so the disk is at work while they are prepared.
enum class Attempts { kOfTheirOwn, kKept };

EnsembleSummary RunStudy(const fs::path& folder, Ledger& ledger, Attempts attempts = Attempts::kOfTheirOwn) {
  auto book = TrialBook::OpenForWriting(folder);
  FakeRunner runner(ReportLr);
  if (attempts == Attempts::kKept) runner.supervisor_ = ProcessIdentity{77, 1, "boot"};
  return RunEnsemble(book, Options(), runner, ledger);
}

Error FaultOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kInternal, "no error"};
}

/// All that was acknowledged can be read, and the book is sound.
void ExpectKept(const fs::path& folder, const Ledger& ledger) {
  const auto rows = TrialBook::OpenForReading(folder).Trials();
  for (const auto& [trial, result] : ledger.results) {
    ASSERT_LT(static_cast<std::size_t>(trial), rows.size());
    EXPECT_EQ(rows[static_cast<std::size_t>(trial)].objective, result) << "trial " << trial;
  }
  SQLite::Database database(folder / kBookName, SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
}

/// The ensemble goes on where it was: no result is there twice, none is missing.
void ExpectGoesOn(const fs::path& folder, Ledger& ledger) {
  const auto before = ledger.results.size();
  EXPECT_EQ(RunStudy(folder, ledger).complete, kTrials);
  EXPECT_EQ(ledger.results.size(), static_cast<std::size_t>(kTrials));
  EXPECT_LT(before, ledger.results.size());
  ExpectKept(folder, ledger);
}

class FullDisk : public testing::TestWithParam<Attempts> {};
INSTANTIATE_TEST_SUITE_P(Of, FullDisk, testing::Values(Attempts::kOfTheirOwn, Attempts::kKept));

bool MakeRoom(const fs::path& disk) {
  return ::mount("slipway-test", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
}

TEST_P(FullDisk, PausesTheManagerUntilThereIsRoom) {
  TempDirectory folder;
  const auto disk = folder / "disk";
  if (!test::MountSmallDisk(disk, "size=256k")) GTEST_SKIP() << "mounts are not allowed here";
  Ledger ledger;
  std::size_t results_before = 0;
  ledger.when_paused = [&] {
    results_before = ledger.results.size();
    ExpectKept(disk, ledger);
    EXPECT_TRUE(MakeRoom(disk));
  };
  EXPECT_EQ(RunStudy(disk, ledger, GetParam()).complete, kTrials);
  EXPECT_THAT(ledger.pauses, testing::ElementsAre(AllOf(HasSubstr("trials.db"), HasSubstr("the disk is full"))));
  EXPECT_THAT(ledger.causes, testing::ElementsAre(PauseCause::kDiskFull));
  EXPECT_EQ(ledger.goes_on, 1);
  EXPECT_GT(results_before, 0u) << "too small for anything: the test shows nothing";
  EXPECT_LT(results_before, static_cast<std::size_t>(kTrials));
  ExpectKept(disk, ledger);
  ::umount(disk.c_str());
}

/// Whoever wants the end does not wait for room.
TEST_P(FullDisk, EndsTheManagerWhenItIsAskedToStop) {
  TempDirectory folder;
  const auto disk = folder / "disk";
  if (!test::MountSmallDisk(disk, "size=256k")) GTEST_SKIP() << "mounts are not allowed here";
  Ledger ledger;
  const auto error = FaultOf([&] {
    auto book = TrialBook::OpenForWriting(disk);
    FakeRunner runner(ReportLr);
    if (GetParam() == Attempts::kKept) runner.supervisor_ = ProcessIdentity{77, 1, "boot"};
    ledger.when_paused = [&] { runner.stop_after_ = 1; };
    RunEnsemble(book, Options(), runner, ledger);
  });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("the disk is full"), HasSubstr("free space")));
  ExpectKept(disk, ledger);
  ASSERT_TRUE(MakeRoom(disk));
  ledger.when_paused = nullptr;
  ExpectGoesOn(disk, ledger);
  ::umount(disk.c_str());
}

/// While it lives no file of this process grows beyond `bytes`; writing fails as beyond a quota.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

TEST(FailingWrites, EndTheManagerWithAllThatItAcknowledged) {
  TempDirectory folder;
  Ledger ledger;
  {
    const FileSizeLimit limit(256 * 1024);
    const auto error = FaultOf([&] { RunStudy(folder.path(), ledger); });
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("cannot be read or written"), HasSubstr("disk")));
    EXPECT_GT(ledger.results.size(), 0u) << "too small for anything: the test shows nothing";
    ExpectKept(folder.path(), ledger);
  }
  ExpectGoesOn(folder.path(), ledger);
}

/// Somebody tidies up behind the manager's back.
TEST(LogThatIsGone, EndsTheManagerBeforeItAcknowledgesMore) {
  TempDirectory folder;
  Ledger ledger;
  ledger.after_each = [&] {
    if (ledger.results.size() == 40) fs::remove(folder / "trials.db-wal");
  };
  const auto error = FaultOf([&] { RunStudy(folder.path(), ledger, Attempts::kKept); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("trials.db"), HasSubstr("cannot be brought to the disk"), HasSubstr("then resume")));
  EXPECT_LT(ledger.results.size(), 50u) << "at most the round in which it was removed";
  ExpectKept(folder.path(), ledger);
  ledger.after_each = nullptr;
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials);
  ExpectKept(folder.path(), ledger);
}

TEST(LongReader, DoesNotStopTheManager) {
  TempDirectory folder;
  Ledger ledger;
  std::optional<TrialBook> reader;
  ledger.after_each = [&] {
    if (!reader) reader.emplace(TrialBook::OpenForReading(folder.path()));
  };
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials);
  EXPECT_LT(reader->Trials().size(), static_cast<std::size_t>(kTrials)) << "its own moment, to the end";
  ExpectKept(folder.path(), ledger);
  reader.reset();
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials) << "a settled book opens again";
  EXPECT_FALSE(fs::exists(folder / "trials.db-wal"));
}

/// Another program, such as the shell of SQLite, in the middle of a transaction.
SQLite::Database Holding(const fs::path& folder) {
  SQLite::Database database(folder / kBookName, SQLite::OPEN_READWRITE);
  database.exec("BEGIN EXCLUSIVE");
  return database;
}

TEST(HeldBook, IsRefusedWithItsReason) {
  TempDirectory folder;
  { TrialBook::OpenForWriting(folder.path()).Settle(); }
  const auto other = Holding(folder.path());
  const auto error = FaultOf([&] { TrialBook::OpenForWriting(folder.path()); });
  EXPECT_EQ(error.kind(), ErrorKind::kBusy);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("locked by another process"), HasSubstr("wait")));
}

/// Longer than SQLite waits by itself: a shell of SQLite, or a copy that takes its time.
TEST(HeldBook, IsWaitedForHoweverLongThatTakes) {
  TempDirectory folder;
  Ledger ledger;
  std::optional<SQLite::Database> other;
  bool was_held = false;
  ledger.after_each = [&] {
    if (ledger.results.size() > 20 && !std::exchange(was_held, true)) other.emplace(Holding(folder.path()));
  };
  std::thread leaves;
  ledger.when_paused = [&] {
    leaves = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::seconds(6));
      other.reset();
    });
  };
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials);
  leaves.join();
  EXPECT_THAT(ledger.pauses,
              testing::ElementsAre(AllOf(HasSubstr("trials.db"), HasSubstr("locked by another process"))));
  EXPECT_THAT(ledger.causes, testing::ElementsAre(PauseCause::kBookHeld));
  EXPECT_EQ(ledger.goes_on, 1);
  ExpectKept(folder.path(), ledger);
}

/// A child that the dead manager was starting has inherited the lock and gives it back a moment later.
TEST(LockOfADeadManager, IsWaitedFor) {
  TempDirectory folder;
  int ends[2];
  CheckErrno(::pipe2(ends, O_CLOEXEC), "pipe");
  const UniqueFd told(ends[0]);
  UniqueFd tell(ends[1]);
  EXPECT_TRUE(test::Succeeded(test::InChild([&] {
    const auto book = TrialBook::OpenForWriting(folder.path());
    if (::fork() == 0) {
      tell.Reset();
      char byte = 0;
      (void)!::read(told.get(), &byte, 1);  // until nobody can write any more
      ::_exit(0);
    }
    ::_exit(0);
    return true;
  })));
  EXPECT_FALSE(FileLock::TryAcquire(folder / kLockName, LockMode::kExclusive)) << "the child has it";
  std::thread later([&] {
    SystemClock().Sleep(std::chrono::milliseconds(200));
    tell.Reset();
  });
  Ledger ledger;
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials);
  later.join();
}

TEST(ReadOnlyFolder, IsRefusedToTheWriterWithItsReason) {
  TempDirectory folder;
  Ledger ledger;
  RunStudy(folder.path(), ledger);
  fs::permissions(folder / kBookName, fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_TRUE(test::AsOrdinaryUser([&] {
    const auto error = FaultOf([&] { TrialBook::OpenForWriting(folder.path()); });
    const std::string text = error.what();
    return error.kind() == ErrorKind::kEnvironment && text.find(folder.path()) != std::string::npos &&
           text.find("Permission denied") != std::string::npos && !error.next_step().empty();
  }));
  EXPECT_TRUE(test::AsOrdinaryUser(
      [&] { return TrialBook::OpenForReading(folder.path()).Trials().size() == ledger.results.size(); }));
  fs::permissions(folder.path(), fs::perms(0755));
}

/// A manager was killed, or not yet done, before it had made its tables.
TEST(BookWithoutTables, HoldsNothingYetAndIsGoneOnWith) {
  TempDirectory folder;
  SQLite::Database(folder / kBookName, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("PRAGMA journal_mode = WAL");
  const auto error = FaultOf([&] { TrialBook::OpenForReading(folder.path()); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("holds no trials yet"), HasSubstr("resume")));
  Ledger ledger;
  EXPECT_EQ(RunStudy(folder.path(), ledger).complete, kTrials);
}

/// Changes the book in a process that dies before its commit, when half of it is on the disk already.
void DieWithinAChange(const fs::path& book) {
  EXPECT_TRUE(test::Succeeded(test::InChild([&] {
    SQLite::Database database(book, SQLite::OPEN_READWRITE);
    database.exec("PRAGMA cache_size = 2; BEGIN; UPDATE trial SET reason = hex(randomblob(2000))");
    ::_exit(0);
    return true;
  })));
}

TEST(BookOfADeadWriter, IsReadAsItWasBeforeTheChange) {
  TempDirectory folder;
  Ledger ledger;
  RunStudy(folder.path(), ledger);
  DieWithinAChange(folder / kBookName);
  ASSERT_TRUE(fs::exists(folder / "trials.db-journal"));
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().at(0).reason, "");
  ExpectKept(folder.path(), ledger);
}

TEST(BookOfADeadWriter, SaysWhatItNeedsWhereNobodyMayWrite) {
  TempDirectory folder;
  Ledger ledger;
  RunStudy(folder.path(), ledger);
  DieWithinAChange(folder / kBookName);
  fs::permissions(folder / kBookName, fs::perms(0444));
  fs::permissions(folder / "trials.db-journal", fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_TRUE(test::AsOrdinaryUser([&] {
    const auto error = FaultOf([&] { TrialBook::OpenForReading(folder.path()); });
    return error.kind() == ErrorKind::kEnvironment && error.message().find("trials.db") != std::string::npos &&
           error.next_step().find("read a copy") != std::string::npos;
  }));
  fs::permissions(folder.path(), fs::perms(0755));
}

void Overwrite(const fs::path& file, std::streamoff at, std::size_t bytes) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(at);
  const std::string noise(bytes, '\xee');
  stream.write(noise.data(), static_cast<std::streamsize>(noise.size()));
}

TEST(DamagedBook, IsRefusedToTheManagerAndLeftAsItIs) {
  TempDirectory folder;
  Ledger ledger;
  RunStudy(folder.path(), ledger);
  Overwrite(folder / kBookName, 4096 * 5, 4096 * 40);
  const auto before = ReadFile(folder / kBookName);
  const auto error = FaultOf([&] { RunStudy(folder.path(), ledger); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("is damaged"), HasSubstr(".recover")));
  const auto after = ReadFile(folder / kBookName);
  EXPECT_EQ(after.size(), before.size());
  EXPECT_EQ(after.substr(4096), before.substr(4096)) << "what can be recovered is still there";
}

/// Overwrites every page of these tables and of their indexes.
void Damage(const fs::path& book, const std::string& tables) {
  std::vector<std::int64_t> pages;
  {
    SQLite::Database database(book, SQLite::OPEN_READONLY);
    SQLite::Statement query(database,
                            "SELECT pageno FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE "
                            "tbl_name IN (" +
                                tables + "))");
    while (query.executeStep()) pages.push_back(query.getColumn(0).getInt64());
  }
  ASSERT_FALSE(pages.empty());
  for (const auto page : pages) Overwrite(book, (page - 1) * 4096, 4096);
}

TEST(DamagedBook, TellsReadersWhatIsLeftOfIt) {
  TempDirectory folder;
  Ledger ledger;
  RunStudy(folder.path(), ledger);
  Damage(folder / kBookName, "'event', 'metric'");
  auto book = TrialBook::OpenForReading(folder.path());
  const auto trials = book.Trials();
  ASSERT_EQ(trials.size(), ledger.results.size());
  for (const auto& trial : trials) EXPECT_EQ(trial.objective, ledger.results.at(trial.number));
  const auto error = FaultOf([&] { book.Metrics(0); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("trials.db"), HasSubstr("is damaged"), HasSubstr(".recover")));
  Damage(folder / kBookName, "'trial'");
  EXPECT_THAT(FaultOf([&] { TrialBook::OpenForReading(folder.path()).Trials(); }).what(), HasSubstr("is damaged"));
}

/// Behind the last frame a log may hold zeros.
void CutOffLastByte(const fs::path& log) { fs::resize_file(log, ReadFile(log).find_last_not_of('\0')); }

/// As a power loss may leave it: the last commit was not written to its end.
TEST(TornLog, LosesOnlyTheLastCommit) {
  TempDirectory folder, copy;
  Ledger ledger;
  ledger.after_each = [&] {
    if (ledger.results.size() != 40) return;
    for (const char* name : {"trials.db", "trials.db-wal"}) fs::copy_file(folder / name, copy / name);
  };
  RunStudy(folder.path(), ledger);
  CutOffLastByte(copy / "trials.db-wal");
  int complete = 0;
  for (const auto& row : TrialBook::OpenForReading(copy.path()).Trials()) {
    if (row.state != TrialState::kComplete) continue;
    ++complete;
    EXPECT_EQ(row.objective, ledger.results.at(row.number));
  }
  EXPECT_EQ(complete, 40 - Options().parallel) << "a round of four results is one commit";
  Ledger after;
  EXPECT_EQ(RunStudy(copy.path(), after).complete, kTrials);
}

/// Every look at the clock of the day finds another day.
class JumpingClock : public Clock {
 public:
  WallTime Now() override {
    forward_ = !forward_;
    return SystemClock().Now() + std::chrono::hours(forward_ ? 100 : -100);
  }
  SteadyTime Steady() override { return SystemClock().Steady(); }
  void Sleep(std::chrono::nanoseconds duration) override { SystemClock().Sleep(duration); }

 private:
  bool forward_ = false;
};

TEST(JumpingClock, EndsNoTrialAndUsesNoBudget) {
  TempDirectory folder;
  Ledger ledger;
  JumpingClock clock;
  auto options = Options();
  options.trial_time_limit = 3600;
  options.manager_time_limit = 3600;
  options.budget.wall_seconds = 3600;
  auto book = TrialBook::OpenForWriting(folder.path());
  FakeRunner runner(ReportLr);
  EXPECT_EQ(RunEnsemble(book, options, runner, ledger, clock).complete, kTrials);
  SQLite::Database database(folder / kBookName, SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM trial WHERE ended < started OR ended > started + 60").getInt(),
            0);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM session WHERE last_seen > started + 60").getInt(), 0);
}

}  // namespace
}  // namespace slipway::ensemble
