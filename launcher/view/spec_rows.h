/// The fields in which resolved specs differ. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/json_fields.h"

namespace slipway::launcher {

/// A field of the resolved spec.
struct SpecRow {
  std::string key;           ///< dotted path
  std::vector<Json> values;  ///< one for each spec; null: none
};

template <class Visitor, MaybeConst<SpecRow> Struct>
void Visit(Visitor& visit, Struct& row) {
  visit("key", row.key);
  visit("values", row.values);
}

/// Fields that are not the same in all of the specs, in the order of the first spec in which they differ from it. A
/// list is one field, and so is a section that some specs lack. A spec that is no object has no fields.
std::vector<SpecRow> DifferingFields(const std::vector<Json>& specs);

}  // namespace slipway::launcher
