/// Names of tiers in a spec: built-in ones, those of the site, and aliases.
#pragma once

#include <string>

#include "launcher/spec/read_fields.h"

namespace slipway::launcher {

/// Replaces aliases in the list of tiers at `path` and reports unknown words. An alias stands for a tier, not for
/// another alias.
void ResolveTiers(const std::string& path, Json& tiers, Report& report, Draft& draft);

/// A single value becomes a list of one.
void MakeList(Json& value);

}  // namespace slipway::launcher
