/// The table of the spec's fields: each field stands once, with its member of the spec's structs.
///
///   void Visit(SpecVisitor& visit, TraceSpec& trace) {
///     visit({"every", Integer(0), "100", "Steps between two lines of it; 0: none.", "10"}, trace.every);
///     ...
///
/// One visitor lists the fields for reading YAML, the schema, the page and completion; another fills the structs from
/// resolved JSON. A member of a type with another form in JSON is given in that form (spec_forms.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json_fields.h"
#include "launcher/spec/fields.h"

namespace slipway::launcher {

class SpecVisitor {
 public:
  /// Adds every field to `table`, with `prefix` before its path.
  SpecVisitor(std::vector<Field>& table, std::string prefix) : table_(&table), prefix_(std::move(prefix)) {}
  /// Reads the members of `object`. A null value leaves the member unchanged.
  /// Errors: DocumentError for a field that is not there or of another type.
  explicit SpecVisitor(const JsonPlace& object) : object_(&object) {}

  /// `field` has the last name of its path only.
  template <class Member>
  void operator()(Field field, Member&& member) {
    if (const auto place = Enter(std::move(field))) json_fields::Read(*place, member);
  }

  /// A section: a map of fields. Pass `visit_item` when the struct has no Visit of its own.
  template <class Struct>
  void Section(Field field, Struct& section) {
    Section<Struct>(std::move(field), section, [](SpecVisitor& visit, Struct& item) { Visit(visit, item); });
  }
  template <class Struct>
  void Section(Field field, Struct& section, void (*visit_item)(SpecVisitor&, Struct&)) {
    const auto key = field.path;
    if (const auto place = Enter(std::move(field))) {
      SpecVisitor inside(*place);
      visit_item(inside, section);
    }
    ListItem(prefix_ + key, visit_item);
  }
  /// An optional section; nothing when it is left out.
  template <class Struct>
  void Section(Field field, std::optional<Struct>& section) {
    const auto key = field.path;
    if (const auto place = Enter(std::move(field))) {
      SpecVisitor inside(*place);
      Visit(inside, section.emplace());
    }
    ListItem<Struct>(prefix_ + key, [](SpecVisitor& visit, Struct& item) { Visit(visit, item); });
  }

  /// A map of names to structs, which have a `name`. `each` describes one of them; its path is "*".
  template <class Struct>
  void Named(Field field, Field each, std::vector<Struct>& items, void (*visit_item)(SpecVisitor&, Struct&)) {
    const auto path = prefix_ + field.path;
    if (const auto place = Enter(std::move(field))) {
      for (const auto& name : place->Names()) {
        const auto inside = place->Member(name);
        SpecVisitor visit(*inside);
        items.emplace_back().name = name;
        visit_item(visit, items.back());
      }
    }
    if (table_ == nullptr) return;
    SpecVisitor(*table_, path + ".").Enter(std::move(each));
    ListItem(path + ".*", visit_item);
  }
  template <class Struct>
  void Named(Field field, Field each, std::vector<Struct>& items) {
    Named<Struct>(std::move(field), std::move(each), items,
                  [](SpecVisitor& visit, Struct& item) { Visit(visit, item); });
  }

  /// A list of structs.
  template <class Struct>
  void List(Field field, std::vector<Struct>& items, void (*visit_item)(SpecVisitor&, Struct&)) {
    const auto path = prefix_ + field.path;
    if (const auto place = Enter(std::move(field))) {
      for (std::size_t i = 0; i < place->size(); ++i) {
        const auto inside = place->Element(i);
        SpecVisitor visit(inside);
        visit_item(visit, items.emplace_back());
      }
    }
    ListItem(path + "[]", visit_item);
  }

 private:
  /// Adds the field to the table, or returns the place of its value, if there is one.
  std::optional<JsonPlace> Enter(Field field);

  /// Adds the fields of one item to the table.
  template <class Struct>
  void ListItem(const std::string& path, void (*visit_item)(SpecVisitor&, Struct&)) {
    if (table_ == nullptr) return;
    SpecVisitor inside(*table_, path + ".");
    Struct item{};
    visit_item(inside, item);
  }

  std::vector<Field>* table_ = nullptr;
  std::string prefix_;
  const JsonPlace* object_ = nullptr;
};

struct EnsembleSpec;
struct SchedulerSpec;
struct NotifySpec;
/// In spec_table.cpp.
void Visit(SpecVisitor& visit, NotifySpec& notify);
/// In spec_table_ensemble.cpp.
void Visit(SpecVisitor& visit, EnsembleSpec& ensemble);
void Visit(SpecVisitor& visit, SchedulerSpec& scheduler);

}  // namespace slipway::launcher
