/// The JSON type of Slipway. Members keep the order in which they were written.
///
/// Headers include this file (forward declarations only); a .cpp that builds or reads
/// documents includes <nlohmann/json.hpp> as well.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace slipway {
using Json = nlohmann::ordered_json;
}  // namespace slipway
