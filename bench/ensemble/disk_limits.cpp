#include "bench/ensemble/disk_limits.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::bench {

struct SqliteCommits::Parts {
  explicit Parts(const std::filesystem::path& folder)
      : database(folder / "bare.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t(a INTEGER)");
    insert.emplace(database, "INSERT INTO t VALUES (1)");
  }
  SQLite::Database database;
  std::optional<SQLite::Statement> insert;
};

SqliteCommits::SqliteCommits(const std::filesystem::path& folder) : parts_(std::make_unique<Parts>(folder)) {}
SqliteCommits::~SqliteCommits() = default;

void SqliteCommits::Commit() {
  parts_->insert->exec();
  parts_->insert->reset();
}

double SqliteCommitRate(const std::filesystem::path& folder, int commits) {
  SqliteCommits bare(folder);
  return commits / SecondsOf([&] {
           for (int i = 0; i < commits; ++i) bare.Commit();
         });
}

double SyncRate(const std::filesystem::path& folder, int writes) {
  const auto file = OpenFile(folder / "bare", O_WRONLY | O_CREAT);
  const std::string page(4096, 'x');
  return writes / SecondsOf([&] {
           for (int i = 0; i < writes; ++i) {
             CheckErrno(::pwrite(file.get(), page.data(), page.size(), 0), "cannot write");
             CheckErrno(::fdatasync(file.get()), "cannot sync");
           }
         });
}

}  // namespace slipway::bench
