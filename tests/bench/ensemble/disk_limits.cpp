#include "tests/bench/ensemble/disk_limits.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "core/error.h"
#include "core/files.h"
#include "tests/bench/ensemble/stopwatch.h"

namespace slipway::bench {

double SqliteCommitRate(const std::filesystem::path& folder, int commits) {
  SQLite::Database database(folder / "bare.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t(a INTEGER)");
  SQLite::Statement insert(database, "INSERT INTO t VALUES (?)");
  return commits / SecondsOf([&] {
           for (int i = 0; i < commits; ++i) {
             insert.bind(1, i);
             insert.exec();
             insert.reset();
           }
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
