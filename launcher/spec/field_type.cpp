#include "launcher/spec/field_type.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "core/json_fields.h"

namespace slipway::launcher {
namespace type {
namespace {

Type Ranged(TypeKind kind, double min, double max) {
  Type result = Of(kind);
  result.min = min;
  result.max = max;
  return result;
}

}  // namespace

Type Of(TypeKind kind) {
  Type result;
  result.kind = kind;
  return result;
}

Type Integer(double min, double max) { return Ranged(TypeKind::kInteger, min, max); }

Type Seed() { return Integer(0, std::ldexp(1.0, 63)); }

Type Number(double min, double max) { return Ranged(TypeKind::kNumber, min, max); }

Type Between(double min, double max) {
  Type result = Number(min, max);
  result.open = true;
  return result;
}

Type AnyNumber() { return Number(-std::numeric_limits<double>::infinity()); }

Type Positive() { return Between(0, std::numeric_limits<double>::infinity()); }

Type Words(const std::vector<std::string>& words) {
  std::vector<KnownWord> known;
  for (const auto& word : words) known.push_back({word});
  return KnownWords(std::move(known));
}

Type KnownWords(std::vector<KnownWord> words) {
  Type result = Of(TypeKind::kWord);
  result.words = std::move(words);
  return result;
}

Type ListOf(Type element) {
  Type result = Of(TypeKind::kList);
  result.of.push_back(std::move(element));
  return result;
}

Type MapOf(Type element) {
  Type result = Of(TypeKind::kMap);
  result.of.push_back(std::move(element));
  return result;
}

Type OneOf(std::vector<Type> alternatives) {
  Type result = Of(TypeKind::kOneOf);
  result.of = std::move(alternatives);
  return result;
}

Type Section(SectionPresence presence) {
  Type result = Of(TypeKind::kSection);
  result.presence = presence;
  return result;
}

}  // namespace type

namespace {

constexpr double kWide = 1e9;

std::string DescribeRange(const Type& type, std::string_view noun) {
  if (type.open && std::isinf(type.max)) return fmt::format("{} above {}", noun, type.min);
  if (type.open) return fmt::format("{} between {} and {}, without these", noun, type.min, type.max);
  if (std::abs(type.max) < kWide) return fmt::format("{} from {} to {}", noun, type.min, type.max);
  if (std::abs(type.min) < kWide) return fmt::format("{} of at least {}", noun, type.min);
  return std::string(noun);
}

std::string DescribeAlternatives(const Type& type) {
  std::string list;
  for (const Type& alternative : type.of) {
    const auto text = Describe(alternative);
    const bool repeats = alternative.kind == TypeKind::kList && Describe(alternative.of[0]) == list;
    list += list.empty() ? text : repeats ? ", or a list of these" : ", or " + text;
  }
  return list;
}

}  // namespace

std::vector<std::string> PlainWords(const Type& type) {
  std::vector<std::string> words;
  for (const auto& known : type.words) words.push_back(known.word);
  return words;
}

std::string Describe(const Type& type) {
  switch (type.kind) {
    case TypeKind::kText: return "text";
    case TypeKind::kName: return "a name (at most 64 letters, digits, '.', '_' and '-')";
    case TypeKind::kInteger: return DescribeRange(type, "a whole number");
    case TypeKind::kNumber: return DescribeRange(type, "a number");
    case TypeKind::kBool: return "true or false";
    case TypeKind::kDuration: return "a duration such as 90s, 20m or 1h30m (units: ms, s, m, h, d)";
    case TypeKind::kBytes: return "a size such as 512 MiB (units: B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)";
    case TypeKind::kPath: return "a path";
    case TypeKind::kWord: return json_fields::DescribeWords(PlainWords(type));
    case TypeKind::kTier: return "a tier (burst, node, ram, none, dir:PATH or an alias)";
    case TypeKind::kTierPath: return "an absolute path, which may begin with ${NAME}";
    case TypeKind::kSecretUrl: return "a URL (http or https), or $NAME or {env: NAME} for a variable that holds it";
    case TypeKind::kShare: return "a percentage such as 10%";
    case TypeKind::kScalar: return "a scalar (a number, a truth value or text)";
    case TypeKind::kFree: return "a value";
    case TypeKind::kList: return "a list, each " + Describe(type.of[0]);
    case TypeKind::kMap: return "a map of names, each to " + Describe(type.of[0]);
    case TypeKind::kOneOf: return DescribeAlternatives(type);
    case TypeKind::kSection: return "a map of fields";
  }
  return "a value";
}

}  // namespace slipway::launcher
