#include "launcher/workflow/workflow_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/spec/describe_fields.h"
#include "launcher/workflow/read_workflow.h"
#include "launcher/workflow/workflow_table.h"

namespace slipway::launcher {
namespace {

/// An environment variable, or the result of another step.
constexpr auto kAnyReference = "\\$\\{[^}]+\\}";

bool IsOfType(const Json& schema, const char* name) {
  const auto type = schema.value("type", Json());
  return type == name || (type.is_array() && std::ranges::find(type, Json(name)) != type.end());
}

/// Maps and lists may be references as a whole: `args: ${item.params}`.
Json OrReference(Json schema) {
  if (!schema.is_object() || (!IsOfType(schema, "object") && !IsOfType(schema, "array"))) return schema;
  Json either{{"anyOf", Json::array({schema, Json{{"type", "string"}, {"pattern", kAnyReference}}})}};
  for (const auto* member : {"description", "default"}) {
    if (!schema.contains(member)) continue;
    either[member] = schema[member];
    either["anyOf"][0].erase(member);
  }
  return either;
}

Json WithReferences(Json schema) {
  if (!schema.is_object()) return schema;
  schema.erase("required");
  if (schema.contains("pattern")) schema["pattern"] = kAnyReference;
  if (schema.contains("properties")) {
    for (auto& [name, member] : schema["properties"].items()) member = OrReference(WithReferences(member));
  }
  for (const auto* inner : {"additionalProperties", "items"}) {
    if (schema.contains(inner)) schema[inner] = OrReference(WithReferences(schema[inner]));
  }
  if (schema.contains("anyOf")) {
    for (auto& alternative : schema["anyOf"]) alternative = WithReferences(alternative);
  }
  return schema;
}

Json ReferTo(const char* definition) { return {{"$ref", std::string("#/definitions/") + definition}}; }

Json StepSchema() {
  auto step = WithReferences(SchemaOfFields(StepTree()));
  auto& experiment = step["properties"]["experiment"];
  experiment["anyOf"] = Json::array({Json{{"type", "string"}}, ReferTo("experiment")});
  return step;
}

Json SharedFields(const Json& step) {
  Json shared{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const auto name : FieldsThatStepsShare()) {
    shared["properties"][std::string(name)] = step["properties"][std::string(name)];
  }
  return shared;
}

Json Described(Json schema, const Json& from) {
  schema["description"] = from.value("description", "");
  return schema;
}

}  // namespace

Json WorkflowSchema() {
  Json document{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "Slipway workflow"},
                {"description", "Steps that depend on each other: programs, experiments, actions on data, reports."}};
  document.update(WithReferences(SchemaOfFields(WorkflowTree())));
  auto experiment = WithReferences(JsonSchema());
  for (const auto* member : {"$schema", "title"}) experiment.erase(member);
  auto& fields = document["properties"];
  const auto step = StepSchema();
  fields["include"]["anyOf"] =
      Json::array({Json{{"type", "string"}}, Json{{"type", "array"}, {"items", {{"type", "string"}}}}});
  fields["defaults"] = Described(SharedFields(step), fields["defaults"]);
  fields["steps"] = Described({{"type", "object"}, {"additionalProperties", ReferTo("step")}}, fields["steps"]);
  document["definitions"] = {{"experiment", std::move(experiment)}, {"step", step}};
  return document;
}

}  // namespace slipway::launcher
