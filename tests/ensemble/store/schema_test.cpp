// Books of older versions.
#include "ensemble/store/schema.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "ensemble/store/schema_texts.h"
#include "ensemble/store/trial_book.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;

/// As version 1 has left it: trial 0 complete, trial 1 failed twice, trial 2 running.
void WriteBookOfVersion1(const std::filesystem::path& path) {
  SQLite::Database book(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  book.exec(kSchema1);
  book.exec("PRAGMA application_id = " + std::to_string(kBookApplicationId) + "; PRAGMA user_version = 1");
  book.exec(R"sql(
    INSERT INTO study VALUES (1, 'loss', 'minimize', 5, 'random', 7, 3, 'hash', '{"lr":{"log":[0.001,1]}}', 100);
    INSERT INTO parameter VALUES (0, 'lr', '{"log":[0.001,1]}');
    INSERT INTO trial VALUES (0, 'complete', 'c0', 0.5, 1, 0, '', 100, 101, 111), (1, 'failed', 'c1', NULL, 2, 2,
      'exit status 3', 100, 101, 103), (2, 'running', 'c2', NULL, 1, 0, '', 100, 101, NULL);
    INSERT INTO trial_param VALUES (0, 'lr', 'real', 0.1), (1, 'lr', 'real', 0.2), (2, 'lr', 'real', 0.3);
    INSERT INTO attempt VALUES
      (0, 1, 'complete', 10, 1, 'b', 'h', 100, 101, 111, 0, 0, NULL, ''),
      (1, 1, 'failed', 11, 1, 'b', 'h', 100, 101, 102, 3, 0, NULL, 'exit status 3'),
      (1, 2, 'failed', 12, 1, 'b', 'h', 100, 102, 103, 0, 9, NULL, 'signal 9'),
      (2, 1, 'running', 13, 1, 'b', 'h', 100, 101, NULL, NULL, NULL, NULL, '');
    INSERT INTO metric VALUES (0, 1, 'loss', 1, 1.0, 0.5, NULL), (2, 1, 'loss', 1, 1.0, NULL, 'NaN');
    INSERT INTO event(time, kind) VALUES (100, 'started'), (111, 'complete');
  )sql");
}

void ExpectAllIsThere(TrialBook& book) {
  const auto study = book.Study();
  ASSERT_TRUE(study);
  ASSERT_EQ(study->objectives.size(), 1u);
  EXPECT_EQ(study->objectives[0].metric, "loss");
  EXPECT_EQ(study->objectives[0].goal, Goal::kMinimize);
  EXPECT_EQ(study->repeats, 1);
  EXPECT_EQ(study->seed, 7u);
  const auto trials = book.Trials();
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_EQ(trials[0].objective, 0.5);
  EXPECT_EQ(trials[1].reason, "exit status 3");
  EXPECT_EQ(trials[2].parameters, (Point{{"lr", 0.3}}));
  const auto attempts = book.Attempts(1);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].outcome, Outcome::kFailed);
  EXPECT_EQ(attempts[1].outcome, Outcome::kKilled);
  EXPECT_EQ(book.OpenAttempts().at(0).process, (ProcessIdentity{13, 1, "b"}));
  EXPECT_EQ(book.Metrics(0, 1, "loss").at(0).value, 0.5);
  EXPECT_TRUE(std::isnan(book.Metrics(2).at(0).value));
  EXPECT_EQ(book.Used().wall_seconds, 11);
  EXPECT_EQ(book.Used().node_seconds, 12);
}

TEST(OlderBook, IsMigratedByItsNextManagerAndKeptAsItWas) {
  TempDirectory folder;
  WriteBookOfVersion1(folder / kBookName);
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    ExpectAllIsThere(book);
    book.Settle();
  }
  SQLite::Database now(folder / kBookName), before(folder / "trials.db.schema-1");
  EXPECT_EQ(now.execAndGet("PRAGMA user_version").getInt(), kBookSchemaVersion);
  EXPECT_EQ(now.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_EQ(now.execAndGet("SELECT count(*) FROM pragma_foreign_key_check").getInt(), 0);
  EXPECT_EQ(before.execAndGet("PRAGMA user_version").getInt(), 1);
  EXPECT_EQ(before.execAndGet("SELECT count(*) FROM attempt").getInt(), 4);
}

TEST(OlderBook, IsReadWithoutBeingChanged) {
  TempDirectory folder;
  WriteBookOfVersion1(folder / kBookName);
  const auto bytes = ReadFile(folder / kBookName);
  auto book = TrialBook::OpenForReading(folder.path());
  ExpectAllIsThere(book);
  EXPECT_EQ(ReadFile(folder / kBookName), bytes);
  EXPECT_FALSE(std::filesystem::exists(folder / "trials.db.schema-1"));
}

TEST(OlderBook, TakesNewRowsAfterItsMigration) {
  TempDirectory folder;
  WriteBookOfVersion1(folder / kBookName);
  auto book = TrialBook::OpenForWriting(folder.path());
  Changes changes;
  changes.time = 200;
  TrialRecord trial;
  trial.number = 3;
  trial.parameters = {{"lr", 0.4}};
  trial.origin = "enqueued";
  trial.parent = 0;
  changes.trials = {trial};
  changes.claims = {{3, 1, {{"node", {0, 1}, {"2", "GPU-77"}}}}};
  changes.metrics = {{2, 1, "loss", 2, {}, 0.25, 190.0}};
  changes.rungs = {{2, 0, 1, 3, 0.25, "pause"}};
  changes.answers = {{"r1", "enqueued as trial 3"}};
  book.Write(changes);
  EXPECT_EQ(book.Trials()[3].origin, "enqueued");
  EXPECT_EQ(book.Trials()[3].parent, 0);
  EXPECT_EQ(book.Attempts(3)[0].place, "node:0,1/gpu:2,GPU-77");
  EXPECT_EQ(book.Rungs().at(0).decision, "pause");
  EXPECT_EQ(book.AnswerTo("r1"), "enqueued as trial 3");
  EXPECT_FALSE(book.AnswerTo("r2"));
}

}  // namespace
}  // namespace slipway::ensemble
