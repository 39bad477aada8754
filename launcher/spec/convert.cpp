#include "launcher/spec/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/environment.h"
#include "core/lines.h"
#include "core/nearest_word.h"
#include "core/units.h"
#include "launcher/spec/command_line.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/run_name.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

using NodeKind = YamlNode::Kind;

std::string DescribeNode(const YamlNode& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "nothing";
    case NodeKind::kList: return "a list";
    case NodeKind::kMap: return "a map";
    case NodeKind::kScalar: break;
  }
  return (node.quoted ? "the text " : "") + Quoted(node.text);
}

/// "python train.py" as a list of its words; empty where quotes or a shell would have made something else of them.
std::string AsListOfWords(std::string_view text) {
  static constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./ ";
  if (text.empty() || text.size() > 200 || text.find_first_not_of(kPlain) != std::string_view::npos) return {};
  std::istringstream words{std::string(text)};
  const std::vector<std::string> list{std::istream_iterator<std::string>(words), {}};
  return fmt::format("[{}]", fmt::join(list, ", "));
}

/// A number alone: seconds to some, minutes to sbatch.
bool LacksUnit(const YamlNode& node) {
  return node.kind == NodeKind::kScalar && !node.text.empty() &&
         node.text.find_first_not_of("0123456789.") == std::string::npos && ParseDuration(node.text) > Seconds(0);
}

bool TakesAnyScalar(const Type& type) {
  return type.kind == TypeKind::kScalar ||
         (type.kind == TypeKind::kOneOf && std::ranges::any_of(type.of, TakesAnyScalar));
}

/// To YAML, `{betas}` without quotes is a map of one name without a value. Empty: the node is something else.
std::string AsQuotedPlaceholder(const YamlNode& node) {
  if (node.entries.size() != 1 || node.entries[0].value.kind != NodeKind::kNull) return {};
  const auto placeholder = fmt::format("{{{}}}", node.entries[0].key);
  return OnlyPlaceholder(placeholder).empty() ? std::string() : fmt::format("\"{}\"", placeholder);
}

Problem Unexpected(const Type& type, const YamlNode& node) {
  // Any scalar will do except these.
  if (TakesAnyScalar(type) && node.kind == NodeKind::kScalar) {
    return {node.place, "the number " + Quoted(node.text) + " is not finite, or whole and beyond 64 bits", {}};
  }
  if (type.kind == TypeKind::kDuration && LacksUnit(node)) {
    return {node.place, fmt::format("the duration {0} has no unit: write {0}s, {0}m or {0}h", node.text), {}};
  }
  const bool takes_text = type.kind == TypeKind::kText || TakesAnyScalar(type);
  return {node.place, "expected " + Describe(type) + ", found " + DescribeNode(node),
          takes_text ? AsQuotedPlaceholder(node) : std::string()};
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  }
  std::int64_t value = 0;
  if (!ParseNumber(text, value, base) || text.starts_with('-')) return std::nullopt;
  return negative ? -value : value;
}

/// A decimal number as YAML's core schema has it; ".inf" and ".nan" give a value that is not finite.
std::optional<double> ParseYamlNumber(std::string_view text) {
  if (text == ".inf" || text == "+.inf" || text == "-.inf" || text == ".nan") return std::nan("");
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  if (text[0] == '-' || text[0] == '+') return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::nan("");
  return negative ? -value : value;
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

bool InRange(const Type& type, double value) {
  if (type.open) return value > type.min && value < type.max;
  return value >= type.min && value <= type.max;
}

Json IntegerOrNull(const Type& type, const YamlNode& node) {
  const auto value = node.quoted ? std::nullopt : ParseInteger(node.text);
  return value && InRange(type, static_cast<double>(*value)) ? Json(*value) : Json();
}

Json NumberOrNull(const Type& type, const YamlNode& node) {
  const auto integer = node.quoted ? std::nullopt : ParseInteger(node.text);
  const auto value = node.quoted ? std::nullopt : ParseYamlNumber(node.text);
  if (integer && InRange(type, static_cast<double>(*integer))) return Json(*integer);
  return value && std::isfinite(*value) && InRange(type, *value) ? Json(*value) : Json();
}

Json DurationOrNull(const YamlNode& node) {
  if (LacksUnit(node)) return {};
  const auto value = ParseDuration(node.text);
  return value && value->count() > 0 ? Json(value->count()) : Json();
}

Json BytesOrNull(const YamlNode& node) {
  const auto value = ParseBytes(node.text);
  return value && value->count > 0 ? Json(value->count) : Json();
}

Json BoolOrNull(const YamlNode& node) {
  const auto value = node.quoted ? std::nullopt : ParseBool(node.text);
  return value ? Json(*value) : Json();
}

/// "10%" -> {"fraction": 0.1}.
Json ShareOrNull(const YamlNode& node) {
  const std::string_view text = node.text;
  if (!text.ends_with('%')) return {};
  const auto value = ParseYamlNumber(text.substr(0, text.size() - 1));
  return value && *value >= 0 && *value <= 100 ? Json{{"fraction", *value / 100}} : Json();
}

std::string AbsolutePath(std::string_view text, const std::filesystem::path& directory) {
  return (directory / WithHome(text)).lexically_normal().string();
}

Json TierOrNull(const YamlNode& node, const std::filesystem::path& directory) {
  static constexpr std::string_view kDirectory = "dir:";
  const std::string_view text = node.text;
  if (text.empty() || text == kDirectory) return {};
  if (text.starts_with("burst:")) return text.find_first_of("/ ", 6) == std::string_view::npos ? Json(text) : Json();
  if (!text.starts_with(kDirectory)) return text.find_first_of(":/ ") == std::string_view::npos ? Json(text) : Json();
  return std::string(kDirectory) + AbsolutePath(text.substr(kDirectory.size()), directory);
}

Json TierPathOrNull(const YamlNode& node) {
  return node.text.starts_with('/') || node.text.starts_with('$') ? Json(node.text) : Json();
}

/// The name in "$NAME" or "${NAME}"; empty: it is none.
std::string VariableIn(std::string_view text) {
  if (!text.starts_with('$')) return {};
  text.remove_prefix(1);
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  return IsVariableName(text) ? std::string(text) : std::string();
}

Json SecretUrlOrNull(const YamlNode& node) {
  if (node.kind == NodeKind::kMap) {
    const bool is_name = node.entries.size() == 1 && node.entries[0].key == "env" &&
                         node.entries[0].value.kind == NodeKind::kScalar && IsVariableName(node.entries[0].value.text);
    return is_name ? Json{{"env", node.entries[0].value.text}} : Json();
  }
  if (node.kind != NodeKind::kScalar) return {};
  if (const auto name = VariableIn(node.text); !name.empty()) return Json{{"env", name}};
  return IsWebUrl(node.text) ? Json{{"url", node.text}} : Json();
}

/// Null when the scalar is not of this type.
Json ScalarOrNull(const Type& type, const YamlNode& node, const std::filesystem::path& directory) {
  switch (type.kind) {
    case TypeKind::kText: return node.text;
    case TypeKind::kName: return IsRunName(node.text) ? Json(node.text) : Json();
    case TypeKind::kInteger: return IntegerOrNull(type, node);
    case TypeKind::kNumber: return NumberOrNull(type, node);
    case TypeKind::kBool: return BoolOrNull(node);
    case TypeKind::kDuration: return DurationOrNull(node);
    case TypeKind::kBytes: return BytesOrNull(node);
    case TypeKind::kPath: return node.text.empty() ? Json() : Json(AbsolutePath(node.text, directory));
    case TypeKind::kTier: return TierOrNull(node, directory);
    case TypeKind::kTierPath: return TierPathOrNull(node);
    case TypeKind::kShare: return ShareOrNull(node);
    case TypeKind::kScalar: return PlainScalar(node);
    default: return {};
  }
}

std::vector<Problem> ConvertWord(const Type& type, const YamlNode& node, Json& value) {
  const auto words = PlainWords(type);
  for (const std::string& word : words) {
    if (node.kind == NodeKind::kScalar && node.text == word) {
      value = word;
      return {};
    }
  }
  Problem problem = Unexpected(type, node);
  if (node.kind == NodeKind::kScalar && node.text.size() < 64) problem.suggestion = NearestWord(node.text, words);
  return {problem};
}

std::vector<Problem> ConvertList(const Type& type, const YamlNode& node, const Sources& sources, Json& value) {
  if (node.kind != NodeKind::kList) {
    Problem problem = Unexpected(type, node);
    if (node.kind == NodeKind::kScalar && type.of[0].kind == TypeKind::kText)
      problem.suggestion = AsListOfWords(node.text);
    return {std::move(problem)};
  }
  std::vector<Problem> problems;
  value = Json::array();
  for (const YamlNode& item : node.items) {
    Json element;
    const auto found = Convert(type.of[0], item, sources, element);
    problems.insert(problems.end(), found.begin(), found.end());
    value.push_back(std::move(element));
  }
  return problems;
}

std::vector<Problem> ConvertMap(const Type& type, const YamlNode& node, const Sources& sources, Json& value) {
  if (node.kind != NodeKind::kMap) return {Unexpected(type, node)};
  std::vector<Problem> problems;
  value = Json::object();
  for (const YamlEntry& entry : node.entries) {
    Json member;
    const auto found = Convert(type.of[0], entry.value, sources, member);
    problems.insert(problems.end(), found.begin(), found.end());
    if (found.empty()) value[entry.key] = std::move(member);
  }
  return problems;
}

/// The alternative whose shape is the user's, for messages about its parts.
const Type* SameShape(const Type& type, const YamlNode& node) {
  for (const Type& alternative : type.of) {
    if (node.kind == NodeKind::kList && alternative.kind == TypeKind::kList) return &alternative;
  }
  return nullptr;
}

std::vector<Problem> ConvertOneOf(const Type& type, const YamlNode& node, const Sources& sources, Json& value) {
  for (const Type& alternative : type.of) {
    if (Convert(alternative, node, sources, value).empty()) return {};
  }
  if (const Type* shape = SameShape(type, node)) return Convert(*shape, node, sources, value);
  value = nullptr;
  return {Unexpected(type, node)};
}

std::vector<Problem> ConvertFree(const YamlNode& node, const Sources& sources, Json& value) {
  Type any = type::Of(TypeKind::kFree);
  if (node.kind == NodeKind::kList) return ConvertList(type::ListOf(any), node, sources, value);
  if (node.kind == NodeKind::kMap) return ConvertMap(type::MapOf(any), node, sources, value);
  if (node.kind == NodeKind::kNull) return {};
  return Convert(type::Of(TypeKind::kScalar), node, sources, value);
}

}  // namespace

std::filesystem::path WithHome(std::string_view path) {
  const auto home = path == "~" || path.starts_with("~/") ? LookUpInEnvironment("HOME") : std::nullopt;
  return home && !home->empty() ? *home + std::string(path.substr(1)) : std::string(path);
}

Json PlainScalar(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (const auto truth = ParseBool(node.text)) return *truth;
  if (const auto integer = ParseInteger(node.text)) return *integer;
  if (const auto number = ParseYamlNumber(node.text)) {
    // Digits alone are a whole number; one beyond 64 bits would quietly become another number.
    const bool too_large = node.text.find_first_of(".eE") == std::string::npos;
    return std::isfinite(*number) && !too_large ? Json(*number) : Json();
  }
  return node.text;
}

std::vector<Problem> Convert(const Type& type, const YamlNode& node, const Sources& sources, Json& value) {
  switch (type.kind) {
    case TypeKind::kWord: return ConvertWord(type, node, value);
    case TypeKind::kList: return ConvertList(type, node, sources, value);
    case TypeKind::kMap: return ConvertMap(type, node, sources, value);
    case TypeKind::kOneOf: return ConvertOneOf(type, node, sources, value);
    case TypeKind::kFree: return ConvertFree(node, sources, value);
    case TypeKind::kSecretUrl:
      value = SecretUrlOrNull(node);
      if (!value.is_null()) return {};
      return {{node.place, "expected " + Describe(type), {}}};  // what was found may be a secret
    default: break;
  }
  value = node.kind == NodeKind::kScalar ? ScalarOrNull(type, node, sources[node.place.source].directory) : Json();
  if (value.is_null()) return {Unexpected(type, node)};
  return {};
}

}  // namespace slipway::launcher
