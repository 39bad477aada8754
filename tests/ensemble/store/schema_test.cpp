// The tables of the book, as SQLite itself sees them.
#include "ensemble/store/schema.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/store/trial_book.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;

TEST(Schema, IsWholeAndOfThisVersion) {
  TempDirectory folder;
  { TrialBook::OpenForWriting(folder.path()).Settle(); }
  SQLite::Database book(folder / kBookName);
  EXPECT_EQ(book.execAndGet("PRAGMA application_id").getInt64(), kBookApplicationId);
  EXPECT_EQ(book.execAndGet("PRAGMA user_version").getInt64(), kBookSchemaVersion);
  EXPECT_EQ(book.execAndGet("PRAGMA integrity_check").getString(), "ok");
  for (const auto* view : {"trial_overview", "leaderboard", "failures", "rungs", "usage", "state_counts"}) {
    EXPECT_NO_THROW(book.exec(std::string("SELECT * FROM ") + view)) << view;
  }
}

TEST(Schema, TakesEveryWordOfAState) {
  TempDirectory folder;
  { TrialBook::OpenForWriting(folder.path()).Settle(); }
  SQLite::Database book(folder / kBookName, SQLite::OPEN_READWRITE);
  book.exec(
      "INSERT INTO study(id, trials, sampler, seed, grid_points, spec_hash, space, created) "
      "VALUES (1, 99, 'random', 1, 3, '', '{}', 0)");
  int number = 0;
  for (const auto& word : AllWords<TrialState>()) {
    EXPECT_NO_THROW(book.exec("INSERT INTO trial(number, state, configuration, objective, created) VALUES (" +
                              std::to_string(number++) + ", '" + word + "', 'c', 1, 0)"))
        << word;
  }
  EXPECT_ANY_THROW(book.exec("INSERT INTO trial(number, state, configuration, created) VALUES (50, 'odd', 'c', 0)"));
}

TEST(Schema, KeepsPlacesRungsAndParents) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  StudyRecord study;
  study.objectives = {{"loss"}};
  study.trials = 2;
  study.sampler = "random";
  study.space = R"({"lr":{"log":[0.001,1]}})";
  book.CreateStudy(study, ParseSpace(Json::parse(study.space)));
  Changes changes;
  changes.time = 200;
  TrialRecord first, second;
  first.parameters = {{"lr", 0.1}};
  second.number = 1;
  second.parameters = {{"lr", 0.4}};
  second.origin = "enqueued";
  second.parent = 0;
  changes.trials = {first, second};
  changes.claims = {{1, 1, {{"node", {0, 1}, {"2", "GPU-77"}}}}};
  changes.rungs = {{1, 0, 1, 3, 0.25, "pause"}};
  book.Write(changes);
  EXPECT_EQ(book.Trials()[1].origin, "enqueued");
  EXPECT_EQ(book.Trials()[1].parent, 0);
  EXPECT_EQ(book.Attempts(1)[0].place, "node:0,1/gpu:2,GPU-77");
  EXPECT_EQ(book.Rungs().at(0).decision, "pause");
}

}  // namespace
}  // namespace slipway::ensemble
