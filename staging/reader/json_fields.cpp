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

bool AreAll(const Json& value, bool (*fits)(const Json&)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), fits);
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

std::string JsonFields::Text(std::string_view key) {
  const auto& value = Required(key, "a text");
  if (!value.is_string()) Refuse(key, "a text");
  return value.get<std::string>();
}

std::uint64_t JsonFields::Count(std::string_view key) {
  const auto& value = Required(key, "a whole number, 0 or more");
  if (!IsCount(value)) Refuse(key, "a whole number, 0 or more");
  return value.get<std::uint64_t>();
}

double JsonFields::Number(std::string_view key) {
  const auto& value = Required(key, "a number");
  if (!value.is_number()) Refuse(key, "a number");
  return value.get<double>();
}

bool JsonFields::Flag(std::string_view key) {
  const auto& value = Required(key, "true or false");
  if (!value.is_boolean()) Refuse(key, "true or false");
  return value.get<bool>();
}

std::vector<std::uint64_t> JsonFields::Counts(std::string_view key) {
  const auto& value = Required(key, "a list of whole numbers");
  if (!AreAll(value, IsCount)) Refuse(key, "a list of whole numbers");
  return value.get<std::vector<std::uint64_t>>();
}

std::vector<double> JsonFields::Numbers(std::string_view key) {
  const auto& value = Required(key, "a list of numbers");
  if (!AreAll(value, [](const Json& number) { return number.is_number(); })) Refuse(key, "a list of numbers");
  return value.get<std::vector<double>>();
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
