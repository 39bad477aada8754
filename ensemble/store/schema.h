/// The tables of the trial book. Documented in docs/reference/trial-book.md.
#pragma once

#include <cstdint>

namespace slipway::ensemble {

class Connection;

/// "SLWY": distinguishes trial books from other SQLite files.
inline constexpr std::int64_t kBookApplicationId = 0x534c5759;
/// Version of the tables; grows with every change of them. A book of another version is refused.
inline constexpr std::int64_t kBookSchemaVersion = 4;

/// Whether the file has no table, as just after its creation.
bool IsEmptyDatabase(Connection& connection);

/// Checks the tables; changes nothing.
/// Errors: Error(kUsage) when the file is empty; Error(kEnvironment) when it is no trial book or has another version.
void CheckSchema(Connection& connection);

/// Creates the tables of an empty database, in one transaction.
void CreateSchema(Connection& connection);

}  // namespace slipway::ensemble
