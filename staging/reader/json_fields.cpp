#include "staging/reader/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::staging {

namespace {

bool IsCount(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

bool IsText(const Json& value) { return value.is_string(); }
bool IsNumber(const Json& value) { return value.is_number(); }
bool IsFlag(const Json& value) { return value.is_boolean(); }

template <bool (*kFits)(const Json&)>
bool AreAll(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), kFits);
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string name) : object_(object), name_(std::move(name)) {
  if (!object_.is_object()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is {}: expected an object", name_, object_.type_name()),
                "write an object");
  }
}

bool JsonFields::Has(std::string_view key) { return Value(key) != nullptr; }

const Json* JsonFields::Value(std::string_view key) {
  known_.emplace(key);
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

const Json& JsonFields::Required(std::string_view key, std::string_view expected) {
  const auto* value = Value(key);
  if (value == nullptr) {
    throw Error(ErrorKind::kUsage, fmt::format("{} has no '{}': expected {}", name_, key, expected),
                fmt::format("add '{}'", key));
  }
  return *value;
}

void JsonFields::Refuse(std::string_view key, std::string_view expected) const {
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: '{}' is {}: expected {}", name_, key, object_.find(key)->dump(), expected),
              fmt::format("correct '{}'", key));
}

template <class Type>
Type JsonFields::Take(std::string_view key, std::string_view expected, bool (*fits)(const Json&)) {
  const auto& value = Required(key, expected);
  if (!fits(value)) Refuse(key, expected);
  return value.get<Type>();
}

std::string JsonFields::Text(std::string_view key) { return Take<std::string>(key, "a text", IsText); }

std::uint64_t JsonFields::Count(std::string_view key) {
  return Take<std::uint64_t>(key, "a whole number, 0 or more", IsCount);
}

double JsonFields::Number(std::string_view key) { return Take<double>(key, "a number", IsNumber); }

bool JsonFields::Flag(std::string_view key) { return Take<bool>(key, "true or false", IsFlag); }

std::vector<std::uint64_t> JsonFields::Counts(std::string_view key) {
  return Take<std::vector<std::uint64_t>>(key, "a list of whole numbers", AreAll<IsCount>);
}

std::vector<double> JsonFields::Numbers(std::string_view key) {
  return Take<std::vector<double>>(key, "a list of numbers", AreAll<IsNumber>);
}

std::size_t JsonFields::Word(std::string_view key, const std::vector<std::string>& words) {
  const auto expected = fmt::format("one of {}", fmt::join(words, ", "));
  const auto& value = Required(key, expected);
  const auto found = value.is_string() ? std::ranges::find(words, value.get<std::string>()) : words.end();
  if (found == words.end()) Refuse(key, expected);
  return static_cast<std::size_t>(found - words.begin());
}

void JsonFields::Finish() const {
  for (const auto& item : object_.items()) {
    if (known_.contains(item.key())) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{} has an unknown key '{}'; known here: {}", name_, item.key(), fmt::join(known_, ", ")),
                "remove or correct it");
  }
}

}  // namespace slipway::staging
