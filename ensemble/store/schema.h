/// The tables of the trial book and how older books become new ones. Documented in docs/ensembles.md.
#pragma once

#include <cstdint>

namespace slipway::ensemble {

class Connection;

/// "SLWY": tells a trial book from other SQLite files.
inline constexpr std::int64_t kBookApplicationId = 0x534c5759;
inline constexpr std::int64_t kBookSchemaVersion = 3;

/// A file without any table, as it is just after its creation.
bool IsEmptyDatabase(Connection& connection);

/// Errors: Error(kUsage) when nothing is in it yet; Error(kEnvironment) when the file is no trial book, or one of a
/// newer Slipway. Changes nothing.
void CheckSchema(Connection& connection);

/// Brings a checked or empty book to kBookSchemaVersion, each version in one transaction.
void Migrate(Connection& connection);

/// Copies a book of an older version to `<book>.schema-<version>` beside it; what is there already is kept.
/// For books of the present version and empty ones it does nothing.
void BackUpBeforeMigration(Connection& connection);

}  // namespace slipway::ensemble
