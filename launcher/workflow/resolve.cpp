#include "launcher/workflow/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/step_spec.h"
#include "launcher/workflow/target.h"

namespace slipway::launcher {
namespace {

using Kind = YamlNode::Kind;

[[noreturn]] void Refuse(const Reference& reference, std::string_view why) {
  throw Error(ErrorKind::kFailed, fmt::format("{}: {}", WrittenForm(reference), why),
              "look at the result of that step: slipway status shows its folder");
}

class Follower {
 public:
  Follower(const Reference& reference, const std::vector<PathPart>& path) : reference_(reference), path_(path) {}

  Json Follow(const Json& value, std::size_t at = 0) const {
    if (at == path_.size()) return value;
    const auto& part = path_[at];
    if (part.is_member()) return Follow(Member(value, part.member), at + 1);
    if (!part.is_range()) return Follow(Element(value, part.first), at + 1);
    Json list = Json::array();
    for (int i = part.first; i <= *part.last; ++i) list.push_back(Follow(Element(value, i), at + 1));
    return list;
  }

 private:
  const Json& Member(const Json& value, const std::string& name) const {
    if (!value.is_object() || !value.contains(name) || value[name].is_null()) {
      Refuse(reference_, fmt::format("the step has no '{}'", name));
    }
    return value[name];
  }

  const Json& Element(const Json& value, int index) const {
    const auto at = static_cast<std::size_t>(index);
    if (!value.is_array() || at >= value.size()) {
      Refuse(reference_, fmt::format("there are only {} of them", value.is_array() ? value.size() : 0));
    }
    return value[at];
  }

  const Reference& reference_;
  const std::vector<PathPart>& path_;
};

Json ValueOfStep(const Reference& reference, const Scope& scope) {
  const auto found = TargetOf(scope.workflow, reference);
  if (const auto* why = std::get_if<std::string>(&found)) Refuse(reference, *why);
  const auto& target = std::get<Target>(found);
  const Follower follower(reference, target.path);
  if (!target.many) return follower.Follow(scope.result_of(target.steps.front()));
  Json list = Json::array();
  for (const auto step : target.steps) list.push_back(follower.Follow(scope.result_of(step)));
  return list;
}

Json OwnPath(const Reference& reference, const NamedStrings& paths) {
  const auto found = std::ranges::find(paths, reference.name, &NamedStrings::value_type::first);
  if (found == paths.end()) Refuse(reference, "the step has no such path");
  return found->second;
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

YamlNode NodeOf(const Json& value, const Place& place) {
  YamlNode node;
  node.place = place;
  if (value.is_object()) {
    node.kind = Kind::kMap;
    for (const auto& [key, member] : value.items()) node.entries.push_back({key, place, NodeOf(member, place)});
  } else if (value.is_array()) {
    node.kind = Kind::kList;
    for (const auto& element : value) node.items.push_back(NodeOf(element, place));
  } else if (!value.is_null()) {
    node.kind = Kind::kScalar;
    node.quoted = value.is_string();
    node.text = TextOf(value);
  }
  return node;
}

}  // namespace

Json ValueOf(const Reference& reference, const Scope& scope) {
  switch (reference.to) {
    case ReferenceTo::kOutput: return OwnPath(reference, scope.outputs);
    case ReferenceTo::kInput: return OwnPath(reference, scope.inputs);
    default: return ValueOfStep(reference, scope);
  }
}

std::string ResolveText(const std::string& text, const Scope& scope) {
  if (text.find("${") == std::string::npos) return text;
  std::string result;
  for (const auto& piece : SplitAtReferences(text)) {
    const auto* reference = std::get_if<Reference>(&piece);
    result += reference == nullptr ? std::get<std::string>(piece) : TextOf(ValueOf(*reference, scope));
  }
  return result;
}

std::vector<std::string> ResolveWords(const std::vector<std::string>& words, const Scope& scope) {
  std::vector<std::string> result;
  for (const auto& word : words) {
    const auto reference = AsReference(word);
    const auto value = reference ? ValueOf(*reference, scope) : Json();
    if (value.is_array()) {
      for (const auto& each : value) result.push_back(TextOf(each));
    } else {
      result.push_back(ResolveText(word, scope));
    }
  }
  return result;
}

namespace {

YamlNode ResolveTree(const YamlNode& tree, const Scope& scope) {
  if (tree.kind == Kind::kScalar) {
    if (const auto whole = AsReference(tree.text)) return NodeOf(ValueOf(*whole, scope), tree.place);
  }
  auto result = tree;
  result.text = ResolveText(tree.text, scope);
  for (auto& item : result.items) item = ResolveTree(item, scope);
  for (auto& entry : result.entries) entry.value = ResolveTree(entry.value, scope);
  return result;
}

}  // namespace

std::string ResolveSpec(const YamlNode& spec, const Scope& scope) { return YamlOf(ResolveTree(spec, scope)); }

}  // namespace slipway::launcher
