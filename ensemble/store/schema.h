/// The tables of the trial book. Documented in docs/reference/trial-book.md.
#pragma once

#include <cstdint>

namespace slipway::ensemble {

class Connection;

/// "SLWY": tells a trial book from other SQLite files.
inline constexpr std::int64_t kBookApplicationId = 0x534c5759;
/// Grows with every change of the tables: a book of another version is refused.
inline constexpr std::int64_t kBookSchemaVersion = 4;

/// A file without any table, as it is just after its creation.
bool IsEmptyDatabase(Connection& connection);

/// Errors: Error(kUsage) when nothing is in it yet; Error(kEnvironment) when the file is no trial book, or one of
/// another version. Changes nothing.
void CheckSchema(Connection& connection);

/// Creates the tables of an empty database, in one transaction.
void CreateSchema(Connection& connection);

}  // namespace slipway::ensemble
