/// URLs that may hold a secret, and how they are shown.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace slipway::launcher {

/// The field of the spec that holds such URLs.
inline constexpr auto kNotify = "notify";

/// http or https with a host; no blanks, no control characters, at most 2,000 bytes.
bool IsWebUrl(std::string_view text);

/// "https://hooks.slack.com/***": scheme and host only. Credentials, path and query may be secrets.
std::string MaskedUrl(std::string_view url);

/// A resolved spec, or any document, with the webhooks in its member `notify` masked.
Json WithoutSecrets(Json resolved);
/// The list `notify` itself.
Json WithoutSecretsIn(Json notify);

/// The spec as it was written, with its webhooks masked, and those that stand in the resolved one.
std::string WithoutSecretsOf(const Json& resolved, std::string text);
/// Whether a webhook stands there itself, and not only the name of a variable.
bool HoldsSecrets(const Json& resolved);

}  // namespace slipway::launcher
