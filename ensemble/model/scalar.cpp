#include "ensemble/model/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"

namespace slipway::ensemble {
namespace {

__extension__ using Uint128 = unsigned __int128;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

constexpr double kTwoTo63 = 9223372036854775808.0;

// Turns an integral number into an integer: 2 and 2.0 then have the same text.
Scalar Normalised(const Scalar& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr || *number != std::floor(*number) || std::abs(*number) >= kTwoTo63) return value;
  return static_cast<std::int64_t>(*number);
}

std::string Fnv1a128(std::string_view text) {
  constexpr Uint128 kPrime = (Uint128{1} << 88) + 0x13b;
  Uint128 hash = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64), static_cast<std::uint64_t>(hash));
}

}  // namespace

std::optional<Scalar> ScalarFromJson(const Json& json) {
  if (json.is_null()) return Scalar{std::monostate{}};
  if (json.is_boolean()) return Scalar{json.get<bool>()};
  if (json.is_string()) return Scalar{json.get<std::string>()};
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) return {};
  if (json.is_number_integer()) return Scalar{json.get<std::int64_t>()};
  if (json.is_number_float() && std::isfinite(json.get<double>())) return Scalar{json.get<double>()};
  return std::nullopt;
}

Json ToJson(const Scalar& value) {
  return std::visit(Overloaded{[](std::monostate) { return Json(nullptr); }, [](const auto& v) { return Json(v); }},
                    value);
}

std::string Describe(const Scalar& value) { return JsonText(ToJson(value)); }

std::string Brief(const Scalar& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  return Describe(value);
}

bool SameValue(const Scalar& left, const Scalar& right) { return Normalised(left) == Normalised(right); }

bool IsAmong(const std::vector<Scalar>& values, const Scalar& value) {
  return std::ranges::any_of(values, [&](const Scalar& other) { return SameValue(other, value); });
}

const Scalar* Find(const Point& point, std::string_view name) {
  const auto found = std::find_if(point.begin(), point.end(), [&](const auto& member) { return member.first == name; });
  return found == point.end() ? nullptr : &found->second;
}

Json ToJson(const Point& point) {
  Json object = Json::object();
  for (const auto& [name, value] : point) object[name] = ToJson(value);
  return object;
}

Point PointFromJson(const Json& json) {
  if (!json.is_object())
    throw Error(ErrorKind::kUsage, "a configuration must be an object of parameters",
                R"(write an object such as {"lr": 0.01})");
  Point point;
  for (const auto& [name, value] : json.items()) {
    auto scalar = ScalarFromJson(value);
    if (!scalar)
      throw Error(ErrorKind::kUsage, fmt::format("parameter '{}': the value must be a scalar", name),
                  "write a number, a text, true, false or null");
    point.emplace_back(name, std::move(*scalar));
  }
  return point;
}

std::string Describe(const Point& point) {
  return JoinEach(point, " ", [](const auto& each) { return fmt::format("{}={}", each.first, Brief(each.second)); });
}

std::string ConfigurationHash(const Json& point) { return ConfigurationHash(PointFromJson(point)); }

std::string ConfigurationHash(const Point& point) {
  Point sorted = point;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [name, value] : sorted) text += Describe(Scalar{name}) + ':' + Describe(Normalised(value)) + ',';
  return Fnv1a128(text);
}

bool IsNumber(const Scalar& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::optional<std::int64_t> IntegerOf(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const double number = NumberOf(value);
  if (number != std::floor(number) || number < -kTwoTo63 || number >= kTwoTo63) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

double NumberOf(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace slipway::ensemble
