#include "core/number_words.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace slipway {

std::optional<std::string_view> WordOfNumber(double number) {
  if (std::isfinite(number)) return {};
  if (std::isnan(number)) return kNumberWords[0];
  return number > 0 ? kNumberWords[1] : kNumberWords[2];
}

std::optional<double> NumberOfWord(std::string_view word) {
  if (word == kNumberWords[0]) return std::numeric_limits<double>::quiet_NaN();
  if (word == kNumberWords[1]) return std::numeric_limits<double>::infinity();
  if (word == kNumberWords[2]) return -std::numeric_limits<double>::infinity();
  return {};
}

Json JsonOf(double number) {
  const auto word = WordOfNumber(number);
  return word ? Json(*word) : Json(number);
}

std::optional<double> NumberOfJson(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return {};
  return NumberOfWord(json.get_ref<const std::string&>());
}

}  // namespace slipway
