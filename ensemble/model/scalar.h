/// Values of parameters: any JSON scalar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"

namespace slipway::ensemble {

/// null, a truth value, an integer, a floating-point number or a text.
using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// Nothing for arrays, objects, NaN, infinite numbers, and integers beyond 64 bits.
std::optional<Scalar> ScalarFromJson(const Json& json);
Json ToJson(const Scalar& value);
/// As JSON writes it: 0.1, "sgd", true.
std::string Describe(const Scalar& value);
/// For people: 0.1, sgd, true. Floating-point numbers have six digits.
std::string Brief(const Scalar& value);
/// Numbers are compared by value, exactly: 2 and 2.0 are the same.
bool SameValue(const Scalar& left, const Scalar& right);

bool IsAmong(const std::vector<Scalar>& values, const Scalar& value);

/// One configuration: the active parameters and their values, in the order of the space.
using Point = std::vector<std::pair<std::string, Scalar>>;

/// The value of one parameter, null when it is not active.
const Scalar* Find(const Point& point, std::string_view name);
/// An object: parameter name -> value.
Json ToJson(const Point& point);
/// Errors: Error(kUsage) when it is not an object of scalars.
Point PointFromJson(const Json& json);
/// "lr=0.01 optimizer=sgd", for people: each value in brief.
std::string Describe(const Point& point);

/// 32 hexadecimal digits, equal for equal configurations. The order of the members makes no difference, nor does 2 or
/// 2.0. FNV-1a with 128 bits over the sorted members. Stored in the trial book.
std::string ConfigurationHash(const Json& point);
std::string ConfigurationHash(const Point& point);

/// Whether it is an integer or a floating-point number.
bool IsNumber(const Scalar& value);

/// The integer that is equal to the value; nothing when it is not whole or beyond 64 bits, or no number.
std::optional<std::int64_t> IntegerOf(const Scalar& value);

/// The number; NaN for a text, a truth value or null.
double NumberOf(const Scalar& value);

}  // namespace slipway::ensemble
