#include "launcher/spec/notice_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.h"

namespace slipway::launcher {
namespace {

/// The word in braces at the begin of `text`: "run" of "{run}: ...". Nothing: there is none.
std::optional<std::string_view> PlaceholderAt(std::string_view text) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (!text.starts_with('{')) return {};
  const auto end = text.find_first_not_of(kLetters, 1);
  if (end == std::string_view::npos || end == 1 || text[end] != '}') return {};
  return text.substr(1, end - 1);
}

std::string EscapedForJson(const std::string& value) {
  const auto quoted = JsonText(value);
  return quoted.substr(1, quoted.size() - 2);
}

bool IsField(std::string_view word) { return std::ranges::find(NoticeFields(), word) != NoticeFields().end(); }

}  // namespace

const std::vector<std::string>& NoticeFields() {
  static const std::vector<std::string> kFields = {"run",  "name",  "event",  "state", "reason",
                                                   "best", "trial", "folder", "host"};
  return kFields;
}

std::vector<std::string> PlaceholdersIn(std::string_view body) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (const auto word = PlaceholderAt(body.substr(i))) words.emplace_back(*word);
  }
  return words;
}

std::string FillTemplate(std::string_view body, const std::map<std::string, std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto word = PlaceholderAt(body.substr(i));
    if (!word || !IsField(*word)) {
      text += body[i];
      continue;
    }
    const auto value = values.find(std::string(*word));
    if (value != values.end()) text += EscapedForJson(value->second);
    i += word->size() + 1;
  }
  return text;
}

}  // namespace slipway::launcher
