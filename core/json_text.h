/// JSON as text in one line that is valid whatever bytes its texts hold: a byte that is not UTF-8 becomes U+FFFD.
#pragma once

#include <string>

#include "core/json.h"

namespace slipway {

std::string JsonText(const Json& json);

/// A text as it is, without quotes; anything else as JSON.
std::string PlainText(const Json& value);

}  // namespace slipway
