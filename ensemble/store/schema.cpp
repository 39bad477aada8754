#include "ensemble/store/schema.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "core/error.h"
#include "ensemble/store/connection.h"
#include "ensemble/store/schema_texts.h"

namespace slipway::ensemble {
namespace {

// Element i brings a book of version i to version i + 1.
const std::array<const char*, kBookSchemaVersion> kMigrations = {kSchema1, kSchema2, kSchema3};

void MigrateFrom(Connection& connection, std::int64_t version) {
  connection.Execute("BEGIN IMMEDIATE");
  try {
    connection.Execute(kMigrations[static_cast<std::size_t>(version)]);
    connection.Execute(fmt::format("PRAGMA application_id = {}", kBookApplicationId));
    connection.Execute(fmt::format("PRAGMA user_version = {}", version + 1));
    connection.Execute("COMMIT");
  } catch (...) {
    connection.RollBack();
    throw;
  }
}

}  // namespace

bool IsEmptyDatabase(Connection& connection) {
  return connection.Integer("SELECT count(*) FROM sqlite_schema") == 0 &&
         connection.Integer("PRAGMA application_id") == 0;
}

void CheckSchema(Connection& connection) {
  if (IsEmptyDatabase(connection)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' holds no trials yet: its ensemble was only begun", connection.path().string()),
                "wait a moment; when its manager has ended, resume the run");
  }
  if (connection.Integer("PRAGMA application_id") != kBookApplicationId) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is an SQLite database, but not a trial book", connection.path().string()),
                "move it away, or name the folder of an ensemble run");
  }
  const auto version = connection.Integer("PRAGMA user_version");
  if (version <= kBookSchemaVersion && version > 0) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' was written by a newer Slipway (schema {}; this one knows {})",
                          connection.path().string(), version, kBookSchemaVersion),
              "use the version that wrote it, or a newer one");
}

void Migrate(Connection& connection) {
  const auto first = connection.Integer("PRAGMA user_version");
  if (first >= kBookSchemaVersion) return;
  // A table that others refer to is replaced by a new one of the same name: only allowed while nobody looks.
  const auto enforced = connection.Integer("PRAGMA foreign_keys");
  connection.Execute("PRAGMA foreign_keys = OFF");
  for (auto version = first; version < kBookSchemaVersion; ++version) MigrateFrom(connection, version);
  connection.Execute(fmt::format("PRAGMA foreign_keys = {}", enforced));
}

void BackUpBeforeMigration(Connection& connection) {
  const auto version = connection.Integer("PRAGMA user_version");
  if (version == 0 || version >= kBookSchemaVersion) return;
  const std::filesystem::path backup = fmt::format("{}.schema-{}", connection.path().string(), version);
  if (!std::filesystem::exists(backup)) connection.CopyInto(backup);
}

}  // namespace slipway::ensemble
