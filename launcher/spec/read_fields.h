/// Reads the merged YAML tree by the table of fields.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/json.h"
#include "launcher/spec/fields.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {

/// Merges `overlay` into `base`: sections and maps by key; everything else is replaced. {} empties a map. An empty
/// section keeps what is below it; an empty optional section removes it.
void Merge(const FieldNode& fields, YamlNode& base, YamlNode overlay);

/// Reports what is wrong with a spec that is a part of a parsed file; settings files lie below it. Values that are
/// marked as broken are taken as unknown.
void CheckSpecTree(YamlNode tree, Sources& sources, Report& report);

/// A spec on its way from the tree to typed values. Paths are dotted, list elements "data.train.source[0]".
class Draft {
 public:
  Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  Json& values() { return *values_; }
  const Json& values() const { return *values_; }
  /// The value at a path without list elements; null when it was not given, has no default, or is wrong. A map lacks
  /// only its wrong members; `failed` holds their paths.
  const Json& At(std::string_view path) const;
  bool Has(std::string_view path) const;
  /// The place of a value: its own, else that of the nearest enclosing section that was given.
  Place PlaceOf(std::string path) const;

  std::map<std::string, Place> places;         ///< of the values that were given
  std::map<std::string, std::string> origins;  ///< of all fields
  std::map<std::string, Place> slurm_only;     ///< values in the spec that only Slurm uses
  std::set<std::string> failed;                ///< paths whose value was reported as wrong

 private:
  std::unique_ptr<Json> values_;
};

/// Fills the draft; reports unknown and missing fields and wrong values. Fields that this version ignores cause a
/// warning, unless they stand in one of the `settings` sources or hold their default.
void ReadFields(const YamlNode& root, Sources& sources, const std::set<int>& settings, Report& report, Draft& draft);
/// The same for a map of the fields of another table.
void ReadFieldsOf(const FieldNode& table, const YamlNode& root, Sources& sources, Report& report, Draft& draft);
/// The same for a spec that was read before. Fields missing in `root` keep their value of `before`, and maps are merged
/// by key.
void ReadChanges(const YamlNode& root, const Json& before, Sources& sources, Report& report, Draft& draft);
/// The same for settings without a spec: only fields that settings may hold exist.
void ReadSettings(const YamlNode& root, Sources& sources, const std::set<int>& settings, Report& report, Draft& draft);

}  // namespace slipway::launcher
