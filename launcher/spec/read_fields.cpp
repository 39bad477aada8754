#include "launcher/spec/read_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "launcher/spec/changes.h"
#include "launcher/spec/convert.h"
#include "launcher/spec/origin.h"

namespace slipway::launcher {
namespace {

using Kind = YamlNode::Kind;

std::string Join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

bool IsSection(const FieldNode& node) { return node.field == nullptr || node.field->type.kind == TypeKind::kSection; }

bool IsListOfSections(const FieldNode& node) {
  return node.field->type.kind == TypeKind::kList && node.field->type.of[0].kind == TypeKind::kSection;
}

/// Its value is unknown; more remarks about it would only follow from the first.
bool HasBrokenReference(const YamlNode& node) {
  return node.broken || std::any_of(node.items.begin(), node.items.end(), HasBrokenReference) ||
         std::any_of(node.entries.begin(), node.entries.end(),
                     [](const YamlEntry& entry) { return HasBrokenReference(entry.value); });
}

/// Names of datasets become parts of environment variables; names of tiers follow the same rule.
bool IsNameOfSection(std::string_view name) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  return !name.empty() && name.size() <= 64 && kLetters.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::string ListOfFields(const FieldNode& section) {
  return JoinEach(section.children, ", ", [](const auto& child) { return child.first; });
}

Json ParseDefault(const Field& field) {
  if (field.default_yaml.empty()) return nullptr;
  Sources sources;
  Report report(sources);
  const int source = sources.Add("the default of " + field.path, field.default_yaml, {});
  Json value;
  if (const auto node = ParseYaml(sources, source, report)) Convert(field.type, *node, sources, value);
  return value;
}

/// Parsed once for each field of a table, which lives as long as the program. Any thread.
const Json& DefaultValue(const Field& field) {
  static std::mutex mutex;
  static std::map<const Field*, Json> values;
  const std::scoped_lock lock(mutex);
  const auto found = values.find(&field);
  return found != values.end() ? found->second : values.emplace(&field, ParseDefault(field)).first->second;
}

class FieldReader {
 public:
  /// What is not given keeps its value of `before`, where that has one.
  FieldReader(const Json& before, Sources& sources, const std::set<int>& settings, Report& report, Draft& draft)
      : before_(before), sources_(sources), settings_(settings), report_(report), draft_(draft) {}

  void ReadRoot(const FieldNode& table, const YamlNode& root) {
    draft_.values() = ReadSection(table, &root, "", root.place);
  }

  void ReadSettings(const YamlNode& root) {
    ReportUnknown(FieldTree(), root, "");
    for (const auto& [key, child] : FieldTree().children) {
      if (MayStandInSettings(key)) draft_.values()[key] = ReadField(child, root.Find(key), key, root.place);
    }
  }

 private:
  Json ReadSection(const FieldNode& section, const YamlNode* given, const std::string& path, const Place& place) {
    if (given != nullptr && given->kind == Kind::kNull) given = nullptr;
    if (given != nullptr && given->kind != Kind::kMap) {
      Fail(path, Problem{given->place, (path.empty() ? "a spec is" : "'" + path + "' is") + " a map of fields", {}});
      given = nullptr;
    }
    if (section.TakesAnyName()) return ReadNamed(section.children[0].second, given, path);
    if (given != nullptr) ReportUnknown(section, *given, path);
    Json result = Json::object();
    for (const auto& [key, child] : section.children) {
      const YamlEntry* entry = given == nullptr ? nullptr : given->Find(key);
      result[key] = ReadField(child, entry, Join(path, key), place);
    }
    return result;
  }

  Json ReadNamed(const FieldNode& child, const YamlNode* given, const std::string& path) {
    const Json* kept = ValueAt(before_, path);
    Json result = kept != nullptr ? *kept : Json::object();
    if (given == nullptr) return result;
    for (const YamlEntry& entry : given->entries) {
      if (IsNameOfSection(entry.key)) {
        result[entry.key] = ReadField(child, &entry, Join(path, entry.key), entry.key_place);
      } else {
        report_.Error(entry.key_place, fmt::format("the name of a {} is made of small letters, digits and '_', not {}",
                                                   path == "data" ? "dataset" : "tier", Quoted(entry.key)));
      }
    }
    return result;
  }

  void ReportUnknown(const FieldNode& section, const YamlNode& given, const std::string& path) {
    for (const YamlEntry& entry : given.entries) {
      if (report_.IsFull()) return;
      if (section.Child(entry.key) != nullptr) continue;
      std::string suggestion = SuggestField(section, entry.key);
      std::string message = "unknown field " + Quoted(entry.key) + (path.empty() ? "" : " in '" + path + "'");
      if (suggestion == entry.key) {
        message += "; it stands at the top of a spec, in no section";
        suggestion.clear();
      } else if (suggestion.empty()) {
        message += "; there are: " + ListOfFields(section);
      }
      report_.Error(entry.key_place, std::move(message), std::move(suggestion));
    }
  }

  Json ReadField(const FieldNode& node, const YamlEntry* entry, const std::string& path, const Place& section) {
    const Field& field = *node.field;
    const Json* kept = ValueAt(before_, path);
    if (entry == nullptr && kept != nullptr) return *kept;
    const bool empty = entry == nullptr || entry->value.kind == Kind::kNull;
    if (empty && field.need == Need::kRequired) return Missing(field, entry, path, section);
    if (entry == nullptr) return Default(node, path, section);
    if (IsSection(node)) {
      if (empty && field.type.presence == SectionPresence::kOptional) return Default(node, path, section);
      Note(path, entry->key_place);
      return ReadSection(node, &entry->value, path, entry->key_place);
    }
    if (empty && field.default_yaml.empty()) return Default(node, path, section);
    Note(path, entry->value.place);
    if (IsListOfSections(node)) return ReadSections(node, *entry, path);
    return ReadValue(field, *entry, path);
  }

  Json ReadSections(const FieldNode& node, const YamlEntry& entry, const std::string& path) {
    Json result = Json::array();
    if (entry.value.kind != Kind::kList) return Fail(path, {entry.value.place, "'" + path + "' is a list of maps", {}});
    for (const YamlNode& item : entry.value.items) {
      result.push_back(ReadSection(node, &item, path + "[" + std::to_string(result.size()) + "]", item.place));
    }
    return result;
  }

  Json ReadValue(const Field& field, const YamlEntry& entry, const std::string& path) {
    if (HasBrokenReference(entry.value)) {
      draft_.failed.insert(path);
      return nullptr;
    }
    Json value;
    const std::vector<Problem> problems = Convert(field.type, entry.value, sources_, value);
    for (const Problem& problem : problems) Fail(path, problem);
    NoteParts(entry.value, path);
    // Correct members of a map are still checked, so that all errors are reported at once.
    if (!problems.empty()) return field.type.kind == TypeKind::kMap ? value : nullptr;
    if (field.used_by == UsedBy::kSlurm && value != DefaultValue(field)) NoteSlurmOnly(path, entry.key_place);
    return WithKept(field, path, std::move(value));
  }

  /// Maps are merged by key; {} empties one.
  Json WithKept(const Field& field, const std::string& path, Json value) const {
    const Json* kept = ValueAt(before_, path);
    if (field.type.kind != TypeKind::kMap || kept == nullptr || !kept->is_object() || value.empty()) return value;
    Json merged = *kept;
    merged.update(value);
    return merged;
  }

  Json Default(const FieldNode& node, const std::string& path, const Place& section) {
    if (!IsSection(node)) {
      draft_.origins[path] = kDefaultOrigin;
      return DefaultValue(*node.field);
    }
    if (node.field->type.presence == SectionPresence::kAlways) return ReadSection(node, nullptr, path, section);
    draft_.origins[path] = kDefaultOrigin;
    return nullptr;
  }

  Json Missing(const Field& field, const YamlEntry* entry, const std::string& path, const Place& section) {
    const std::size_t dot = path.rfind('.');
    if (dot != std::string::npos && draft_.failed.count(path.substr(0, dot)) > 0) return nullptr;
    const std::string owner = dot == std::string::npos ? "the spec" : "'" + path.substr(0, dot) + "'";
    const std::string example = field.example_yaml.empty() ? "" : ", such as " + field.example_yaml;
    const Place& place = entry == nullptr ? section : entry->key_place;
    return Fail(path, {place, fmt::format("{} needs '{}'{}", owner, path.substr(dot + 1), example), {}});
  }

  Json Fail(const std::string& path, const Problem& problem) {
    draft_.failed.insert(path);
    report_.Error(problem.place, problem.message, problem.suggestion);
    return nullptr;
  }

  void NoteSlurmOnly(const std::string& path, const Place& place) {
    if (settings_.count(place.source) == 0) draft_.slurm_only.emplace(path, place);
  }

  void Note(const std::string& path, const Place& place) {
    draft_.places[path] = place;
    const SourceText& source = sources_[place.source];
    draft_.origins[path] = source.is_override ? source.name : fmt::format("{}:{}", source.name, place.line);
  }

  /// The parts of a map or list can have other places and origins than the whole.
  void NoteParts(const YamlNode& node, const std::string& path) {
    for (const YamlEntry& entry : node.entries) Note(Join(path, entry.key), entry.value.place);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      draft_.places[fmt::format("{}[{}]", path, i)] = node.items[i].place;
    }
  }

  const Json& before_;
  Sources& sources_;
  const std::set<int>& settings_;
  Report& report_;
  Draft& draft_;
};

}  // namespace

void Merge(const FieldNode& fields, YamlNode& base, YamlNode overlay) {
  const bool is_section = IsSection(fields);
  const bool removable = fields.field != nullptr && fields.field->type.presence == SectionPresence::kOptional;
  if (is_section && !removable && overlay.kind == Kind::kNull && base.kind != Kind::kNull) return;
  const bool by_key = is_section || (fields.field->type.kind == TypeKind::kMap && !overlay.entries.empty());
  if (!by_key || base.kind != Kind::kMap || overlay.kind != Kind::kMap || base.entries.empty()) {
    base = std::move(overlay);
    return;
  }
  base.place = overlay.place;
  for (YamlEntry& entry : overlay.entries) {
    YamlEntry* below = base.Find(entry.key);
    const FieldNode* child = fields.Child(entry.key);
    if (below == nullptr) {
      base.entries.push_back(std::move(entry));
    } else if (child == nullptr) {
      *below = std::move(entry);
    } else {
      below->key_place = entry.key_place;
      Merge(*child, below->value, std::move(entry.value));
    }
  }
}

Draft::Draft() : values_(std::make_unique<Json>(Json::object())) {}
Draft::~Draft() = default;

const Json& Draft::At(std::string_view path) const {
  static const Json kNothing;
  const Json* value = ValueAt(*values_, path);
  return value != nullptr ? *value : kNothing;
}

bool Draft::Has(std::string_view path) const { return !At(path).is_null(); }

Place Draft::PlaceOf(std::string path) const {
  while (true) {
    const auto found = places.find(path);
    if (found != places.end()) return found->second;
    const std::size_t end = path.find_last_of(".[");
    if (end == std::string::npos) break;
    path.resize(end);
  }
  const auto root = places.find("");
  return root == places.end() ? Place{} : root->second;
}

void ReadSettings(const YamlNode& root, Sources& sources, const std::set<int>& settings, Report& report, Draft& draft) {
  draft.places[""] = root.place;
  FieldReader(Json(), sources, settings, report, draft).ReadSettings(root);
}

void ReadFields(const YamlNode& root, Sources& sources, const std::set<int>& settings, Report& report, Draft& draft) {
  draft.places[""] = root.place;
  FieldReader(Json(), sources, settings, report, draft).ReadRoot(FieldTree(), root);
}

void ReadFieldsOf(const FieldNode& table, const YamlNode& root, Sources& sources, Report& report, Draft& draft) {
  draft.places[""] = root.place;
  FieldReader(Json(), sources, {}, report, draft).ReadRoot(table, root);
}

void ReadChanges(const YamlNode& root, const Json& before, Sources& sources, Report& report, Draft& draft) {
  draft.places[""] = root.place;
  FieldReader(before, sources, {}, report, draft).ReadRoot(FieldTree(), root);
}

}  // namespace slipway::launcher
