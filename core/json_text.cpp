#include "core/json_text.h"

#include <nlohmann/json.hpp>

namespace slipway {

std::string JsonText(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string PlainText(const Json& value) { return value.is_string() ? value.get<std::string>() : JsonText(value); }

}  // namespace slipway
