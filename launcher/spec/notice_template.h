/// The template of a webhook's body: JSON with placeholders such as {run} within its texts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher {

/// "run", "name", "event", "state", "reason", "best", "trial", "folder", "host".
const std::vector<std::string>& NoticeFields();

/// The words in braces that a template has, also those that are no fields.
std::vector<std::string> PlaceholdersIn(std::string_view body);

/// Fields are replaced by their values, escaped as in a JSON text; a missing one by nothing. The rest stays.
std::string FillTemplate(std::string_view body, const std::map<std::string, std::string>& values);

}  // namespace slipway::launcher
