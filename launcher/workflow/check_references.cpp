#include "launcher/workflow/check_references.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/nearest_word.h"
#include "launcher/spec/fields.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/condition.h"
#include "launcher/workflow/graph.h"
#include "launcher/workflow/result_type.h"
#include "launcher/workflow/step_texts.h"
#include "launcher/workflow/target.h"

namespace slipway::launcher {
namespace {

using NodeKind = YamlNode::Kind;

/// Whether a value of this type can become a value of the field.
bool Fits(const Type& field, const ResultType& value) {
  if (field.kind == TypeKind::kFree) return true;
  if (field.kind == TypeKind::kOneOf) {
    return std::ranges::any_of(field.of, [&](const Type& each) { return Fits(each, value); });
  }
  if (field.kind == TypeKind::kList) return Fits(field.of[0], {value.kind, false});
  if (value.is_list) return false;
  if (field.kind == TypeKind::kMap) return value.kind == ResultKind::kParameters;
  const bool takes_text =
      field.kind == TypeKind::kText || field.kind == TypeKind::kPath || field.kind == TypeKind::kScalar;
  const bool takes_number =
      field.kind == TypeKind::kInteger || field.kind == TypeKind::kNumber || field.kind == TypeKind::kScalar;
  switch (value.kind) {
    case ResultKind::kPath: return takes_text;
    case ResultKind::kNumber: return takes_number || field.kind == TypeKind::kText;
    case ResultKind::kScalar: return field.kind != TypeKind::kSection;
    default: return false;
  }
}

class Linker {
 public:
  Linker(Workflow& workflow, const FieldPlaces& place_of, Report& report)
      : workflow_(workflow), place_of_(place_of), report_(report) {}

  void Link() {
    workflow_.needs.assign(workflow_.steps.size(), {});
    for (step_ = 0; step_ < workflow_.steps.size(); ++step_) {
      LinkStep(workflow_.steps[step_]);
      auto& needs = workflow_.needs[step_];
      std::ranges::sort(needs);
      needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    }
  }

 private:
  void LinkStep(const Step& step) {
    ForEachText(step, [&](const std::string& field, const std::string& text, TextUse use) {
      if (text.find('$') == std::string::npos) return CheckWhen(field, text, use);
      CheckText(text, use, place_of_(step_, field));
      CheckWhen(field, text, use);
    });
    if (const auto* spec = SpecOf(step)) CheckSpec(*spec, &FieldTree());
    for (std::size_t i = 0; i < step.after.size(); ++i) NeedGroup(step.after[i], fmt::format("after[{}]", i));
    LinkReports(step);
  }

  void LinkReports(const Step& step) {
    const auto* report = std::get_if<ReportStep>(&step.work);
    if (report == nullptr) return;
    for (std::size_t i = 0; i < report->steps.size(); ++i) {
      const auto field = fmt::format("report[{}]", i);
      if (!NeedGroup(report->steps[i], field)) continue;
      if (workflow_.steps[workflow_.groups.at(report->steps[i]).front()].is_run()) continue;
      report_.Error(place_of_(step_, field),
                    fmt::format("step '{}' is no experiment or ensemble: it has no report", report->steps[i]));
    }
  }

  bool NeedGroup(const std::string& name, const std::string& field) {
    const auto target = TargetOf(workflow_, {.to = ReferenceTo::kStep, .name = name});
    if (const auto* why = std::get_if<std::string>(&target)) {
      report_.Error(place_of_(step_, field), *why);
      return false;
    }
    Need(std::get<Target>(target));
    return true;
  }

  void Need(const Target& target) {
    auto& needs = workflow_.needs[step_];
    needs.insert(needs.end(), target.steps.begin(), target.steps.end());
  }

  void CheckWhen(const std::string& field, const std::string& text, TextUse use) {
    if (use != TextUse::kCondition || report_.HasErrors()) return;  // a wrong reference was reported
    try {
      CheckCondition(text);
    } catch (const Error& error) {
      report_.Error(place_of_(step_, field), error.message());
    }
  }

  void CheckText(const std::string& text, TextUse use, const Place& place) {
    std::vector<BadReference> bad;
    const auto pieces = SplitAtReferences(text, bad);
    for (const auto& each : bad) report_.Error(place, Quoted(each.written) + " " + each.reason);
    for (const auto& piece : pieces) {
      const auto* reference = std::get_if<Reference>(&piece);
      if (reference == nullptr) continue;
      const auto type = CheckReference(*reference, place);
      if (!type) continue;
      const bool is_alone = pieces.size() == 1 && use == TextUse::kWord;
      if (const auto why = WhyUnfit(*type, use, is_alone); !why.empty()) {
        report_.Error(place, fmt::format("{} is {}; {}", WrittenForm(*reference), Describe(*type), why));
      }
    }
  }

  static std::string WhyUnfit(const ResultType& type, TextUse use, bool is_alone) {
    if (use == TextUse::kCondition) {
      const bool fits = !type.is_list && (type.kind == ResultKind::kNumber || type.kind == ResultKind::kScalar);
      return fits ? "" : "a condition compares numbers";
    }
    if (type.kind == ResultKind::kResult || type.kind == ResultKind::kTrial) return "name a member of it";
    if (type.is_list && !is_alone) return "a list stands alone, as a word of a command";
    return {};
  }

  /// Its type; nothing when it is wrong, which is then reported.
  std::optional<ResultType> CheckReference(const Reference& reference, const Place& place) {
    switch (reference.to) {
      case ReferenceTo::kStep: return CheckStepReference(reference, place);
      case ReferenceTo::kOutput: return CheckOwn(reference, workflow_.steps[step_].outputs, "output", place);
      case ReferenceTo::kInput: return CheckOwn(reference, workflow_.steps[step_].inputs, "input", place);
      default: return {};  // reported by RefuseItems
    }
  }

  std::optional<ResultType> CheckOwn(const Reference& reference, const NamedStrings& values, std::string_view what,
                                     const Place& place) {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    if (!reference.path.empty()) {
      report_.Error(place, WrittenForm(reference) + " is a path and has nothing in it");
    } else if (std::ranges::find(names, reference.name) == names.end()) {
      report_.Error(place, fmt::format("{}: the step has no {} '{}'", WrittenForm(reference), what, reference.name),
                    NearestWord(reference.name, names));
    } else {
      return ResultType{ResultKind::kPath, false};
    }
    return {};
  }

  std::optional<ResultType> CheckStepReference(const Reference& reference, const Place& place) {
    const auto found = TargetOf(workflow_, reference);
    if (const auto* why = std::get_if<std::string>(&found)) {
      report_.Error(place, fmt::format("{}: {}", WrittenForm(reference), *why));
      return {};
    }
    const auto& target = std::get<Target>(found);
    Need(target);
    const auto type = TypeOfResult(workflow_.steps[target.steps.front()], target.path, target.many);
    if (const auto* no = std::get_if<NoSuchResult>(&type)) {
      report_.Error(place, fmt::format("{}: step '{}' {}", WrittenForm(reference), reference.name, no->reason));
      return {};
    }
    return std::get<ResultType>(type);
  }

  void CheckSpec(const YamlNode& node, const FieldNode* field) {
    if (node.kind == NodeKind::kScalar && node.text.find("${") != std::string::npos) CheckSpecValue(node, field);
    for (const auto& item : node.items) CheckSpec(item, field);
    for (const auto& entry : node.entries) {
      const auto* child = field == nullptr ? nullptr : field->Child(entry.key);
      CheckSpec(entry.value, child);
    }
  }

  void CheckSpecValue(const YamlNode& node, const FieldNode* field) {
    const auto whole = AsReference(node.text);
    if (!whole) return CheckText(node.text, TextUse::kText, node.place);
    const auto type = CheckReference(*whole, node.place);
    if (!type || field == nullptr || field->field == nullptr) return;
    // A value in a map or list of the field has the type of its elements.
    const auto& wanted = field->field->type;
    const bool is_map = wanted.kind == TypeKind::kMap;
    if (Fits(wanted, *type) || (is_map && Fits(wanted.of[0], *type))) return;
    report_.Error(node.place, fmt::format("{} is {}, but {} is {}", WrittenForm(*whole), Describe(*type),
                                          field->field->path, Describe(wanted)));
  }

  Workflow& workflow_;
  const FieldPlaces& place_of_;
  Report& report_;
  StepIndex step_ = 0;
};

std::string CycleText(const Workflow& workflow, const std::vector<StepIndex>& cycle) {
  std::string text;
  for (const auto step : cycle) text += workflow.steps[step].name + " needs ";
  return text + workflow.steps[cycle.front()].name;
}

}  // namespace

void LinkSteps(Workflow& workflow, const FieldPlaces& place_of, Report& report) {
  Linker(workflow, place_of, report).Link();
}

void OrderSteps(Workflow& workflow, const FieldPlaces& place_of, Report& report) {
  auto [order, cycle] = OrderOf(workflow.needs);
  workflow.dependants = Inverse(workflow.needs);
  workflow.order = std::move(order);
  if (cycle.empty()) return;
  report.Error(
      place_of(cycle.front(), ""),
      fmt::format("steps depend on each other in a circle: {}; remove one of these needs", CycleText(workflow, cycle)));
}

}  // namespace slipway::launcher
