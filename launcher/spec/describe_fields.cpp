#include "launcher/spec/describe_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "launcher/spec/fields.h"

namespace slipway::launcher {
namespace {

/// A pattern that a `${NAME}` reference matches: any scalar may be one.
constexpr auto kReference = "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}";

Json WithReference(Json schema) {
  return Json{{"anyOf", Json::array({std::move(schema), Json{{"type", "string"}, {"pattern", kReference}}})}};
}

void AddRange(const Type& type, Json& schema) {
  if (std::isfinite(type.min)) schema[type.open ? "exclusiveMinimum" : "minimum"] = type.min;
  if (std::isfinite(type.max)) schema[type.open ? "exclusiveMaximum" : "maximum"] = type.max;
}

bool HasMeanings(const Type& type) {
  return std::ranges::any_of(type.words, [](const KnownWord& known) { return !known.meaning.empty(); });
}

Json WordsSchema(const Type& type) {
  Json schema{{"enum", PlainWords(type)}};
  if (!HasMeanings(type)) return schema;
  for (const auto& known : type.words) schema["enumDescriptions"].push_back(known.meaning);
  return schema;
}

Json TypeSchema(const Type& type);

Json AlternativesSchema(const Type& type) {
  Json alternatives = Json::array();
  for (const auto& alternative : type.of) alternatives.push_back(TypeSchema(alternative));
  return Json{{"anyOf", alternatives}};
}

Json NumberSchema(const Type& type, const char* name) {
  Json schema{{"type", name}};
  AddRange(type, schema);
  return WithReference(schema);
}

Json TypeSchema(const Type& type) {
  switch (type.kind) {
    case TypeKind::kInteger: return NumberSchema(type, "integer");
    case TypeKind::kNumber: return NumberSchema(type, "number");
    case TypeKind::kBool: return WithReference(Json{{"type", "boolean"}});
    case TypeKind::kWord: return WithReference(WordsSchema(type));
    case TypeKind::kBytes: return Json{{"type", {"string", "number"}}};
    case TypeKind::kText:
    case TypeKind::kName:
    case TypeKind::kPath: return Json{{"type", {"string", "number", "boolean"}}};
    case TypeKind::kDuration:
    case TypeKind::kTier:
    case TypeKind::kTierPath:
    case TypeKind::kShare: return Json{{"type", "string"}};
    case TypeKind::kSecretUrl: return Json{{"type", {"string", "object"}}};
    case TypeKind::kScalar: return Json{{"type", {"string", "number", "boolean"}}};
    case TypeKind::kList: return Json{{"type", "array"}, {"items", TypeSchema(type.of[0])}};
    case TypeKind::kMap: return Json{{"type", "object"}, {"additionalProperties", TypeSchema(type.of[0])}};
    case TypeKind::kOneOf: return AlternativesSchema(type);
    case TypeKind::kFree:
    case TypeKind::kSection: return Json::object();
  }
  return Json::object();
}

Json SectionSchema(const FieldNode& node);

/// A field may be left empty that is optional and has no default. Sections say so themselves.
void AllowNothing(Json& schema) {
  if (schema.contains("anyOf")) schema["anyOf"].push_back(Json{{"type", "null"}});
  if (!schema.contains("type")) return;
  auto& type = schema["type"];
  if (!type.is_array()) type = Json::array({type});
  type.push_back("null");
}

Json NodeSchema(const FieldNode& node) {
  const auto& field = *node.field;
  Json schema = node.children.empty() ? TypeSchema(field.type) : SectionSchema(node);
  if (field.type.kind == TypeKind::kList && !node.children.empty()) {
    schema = Json{{"type", "array"}, {"items", std::move(schema)}};
  }
  const bool is_section = field.type.kind == TypeKind::kSection;
  if (!is_section && field.need != Need::kRequired && field.default_yaml.empty()) AllowNothing(schema);
  schema["description"] = field.description;
  if (field.used_by == UsedBy::kSlurm) schema["description"] = field.description + " (with engine: slurm)";
  if (!field.default_yaml.empty()) {
    const auto value = Json::parse(field.default_yaml, nullptr, false);
    schema["default"] = value.is_discarded() ? Json(field.default_yaml) : value;
  }
  return schema;
}

Json SectionSchema(const FieldNode& node) {
  Json schema{{"type", {"object", "null"}}};
  if (node.TakesAnyName()) {
    schema["additionalProperties"] = NodeSchema(node.children[0].second);
    return schema;
  }
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& [name, child] : node.children) {
    properties[name] = NodeSchema(child);
    if (child.field->need == Need::kRequired) required.push_back(name);
  }
  schema["properties"] = properties;
  schema["additionalProperties"] = false;
  if (!required.empty()) schema["required"] = required;
  return schema;
}

/// "|" would end the cell of a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

/// "a size such as 512 MiB (units: B, ...)" without what stands in parentheses.
std::string WithoutRemarks(std::string text) {
  for (std::size_t begin; (begin = text.find(" (")) != std::string::npos;) {
    const auto end = text.find(')', begin);
    text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return text;
}

/// What of a description stands in the table, and the rest, which stands below it.
std::pair<std::string, std::string> InTableAndBelow(const std::string& description) {
  const auto at = std::min(description.find("; "), description.find(". "));
  if (at == std::string::npos) return {description, ""};
  return {description.substr(0, at) + ".", description.substr(at + 2)};
}

std::string FieldRow(const Field& field) {
  const auto need = field.need == Need::kRequired ? "required" : field.default_yaml;
  const auto example = field.example_yaml.empty() ? "" : fmt::format("`{}`", Cell(field.example_yaml));
  return fmt::format("| `{}` | {} | {} | {}{} | {} |\n", field.path, Cell(WithoutRemarks(Describe(field.type))),
                     need.empty() ? "" : fmt::format("`{}`", Cell(need)),
                     Cell(InTableAndBelow(field.description).first),
                     field.used_by == UsedBy::kSlurm ? " *With engine: slurm.*" : "", example);
}

/// What the words of a type or of its alternatives mean, where that is said.
std::string WordRows(const Field& field, const Type& type) {
  std::string rows;
  for (const auto& alternative : type.of) {
    const auto more = WordRows(field, alternative);
    if (rows.find(more) == std::string::npos) rows += more;  // "a word, or a list of these" has the same words twice
  }
  for (const auto& [word, meaning] : type.words) {
    if (!meaning.empty()) rows += fmt::format("| `{}` | `{}` | {} |\n", field.path, word, meaning);
  }
  return rows;
}

/// The rest of a description that is too long for the table.
std::string NoteLine(const Field& field) {
  auto rest = InTableAndBelow(field.description).second;
  if (rest.empty()) return rest;
  rest[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(rest[0])));
  return fmt::format("- `{}`: {}\n", field.path, rest);
}

/// `text`: what stands above the table of its fields.
std::string HeadingOf(const std::string& section, const std::string& text) {
  return fmt::format("\n## {}\n\n{}| field | value | default | meaning | example |\n|---|---|---|---|---|\n", section,
                     text);
}

/// Below the fields of a section.
std::string NotesOf(const std::string& lines) { return lines.empty() ? "" : "\n" + lines; }

std::string WordTableOf(const std::string& rows) {
  return rows.empty() ? "" : fmt::format("\n| field | word | meaning |\n|---|---|---|\n{}", rows);
}

std::string_view TopLevelKey(const Field& field) {
  return std::string_view(field.path).substr(0, field.path.find_first_of(".["));
}

}  // namespace

Json SchemaOfFields(const FieldNode& tree) {
  auto schema = SectionSchema(tree);
  schema["type"] = "object";
  return schema;
}

Json JsonSchema() {
  Json document{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "Slipway experiment"},
                {"description", "One experiment: its data, how its ranks start, what they run, and its ensemble."}};
  document.update(SchemaOfFields(FieldTree()));
  return document;
}

std::string ReferencePage() {
  std::string page =
      "# The spec, field by field\n\n"
      "Generated by `slipway schema --markdown` from the table that also reads and checks the spec.\n\n"
      "- A `*` in a path stands for any name.\n"
      "- Any value may be or contain `${NAME}` or `${NAME:-default}`, an environment variable. `$${` is a plain `${`.\n"
      "- Relative paths start at the folder of the file they stand in; those of `--set` at the working directory. "
      "`~/` is the home directory.\n"
      "- A map or section of `--set` is merged by key into that of the file: `--set 'train.args={lr: 0.1}'` keeps the "
      "other arguments. `{}` empties a map. All else is replaced.\n"
      "- Sizes have a unit: B, KiB, MiB, GiB, TiB, KB, MB, GB, TB. So have durations: ms, s, m, h, d.\n"
      "- A name has at most 64 letters, digits, `.`, `_` and `-`. It begins with a letter or a digit.\n"
      "- A tier is `burst`, `node`, `ram`, `none`, `dir:PATH`, or an alias from `tiers`.\n";
  std::string section, notes, words;
  for (const auto& field : Fields()) {
    const bool begins = section != TopLevelKey(field);
    if (begins) page += NotesOf(std::exchange(notes, {})) + WordTableOf(std::exchange(words, {}));
    if (begins) section = TopLevelKey(field);
    const bool has_heading = field.path == section && field.type.kind == TypeKind::kSection;
    if (begins) page += HeadingOf(section, has_heading ? field.description + "\n\n" : "");
    if (!has_heading) page += FieldRow(field);
    if (!has_heading) notes += NoteLine(field);
    words += WordRows(field, field.type);
  }
  return page + NotesOf(notes) + WordTableOf(words);
}

std::vector<std::string> CompletionWords() {
  std::vector<std::string> words;
  for (const auto& field : Fields()) {
    const bool fixed = field.path.find_first_of("*[") == std::string::npos;
    if (fixed && field.type.kind != TypeKind::kSection) words.push_back(field.path);
  }
  return words;
}

}  // namespace slipway::launcher
