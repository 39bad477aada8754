/// The tables of Optuna's SQLite storage, and the versions of them that are known.
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway::ensemble {

/// version_info.schema_version of every Optuna 2 and 3; what changed since stands in alembic_version.
inline constexpr std::int64_t kOptunaSchemaVersion = 12;
/// alembic_version of Optuna 3.0 and 3.1, and since 3.2; the tables that are read here are the same.
inline constexpr std::string_view kOptunaRevision30 = "v3.0.0.d";
inline constexpr std::string_view kOptunaRevision32 = "v3.2.0.a";

/// Creates the tables, with their versions, as Optuna 3.1 does.
extern const char* const kOptunaSchema;

}  // namespace slipway::ensemble
