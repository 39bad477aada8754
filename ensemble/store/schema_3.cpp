#include "ensemble/store/schema_texts.h"

namespace slipway::ensemble {

const char* const kSchema3 = R"sql(
ALTER TABLE session ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN since_boot REAL NOT NULL DEFAULT 0;
)sql";

}  // namespace slipway::ensemble
