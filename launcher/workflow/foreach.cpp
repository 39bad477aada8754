#include "launcher/workflow/foreach.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::launcher {
namespace {

using Kind = YamlNode::Kind;

bool IsOfItem(const Reference& reference) {
  return reference.to == ReferenceTo::kItem || reference.to == ReferenceTo::kIndex;
}

/// Of a range its elements: the last range of the path counts.
std::vector<Item> Elements(const Reference& reference) {
  const auto range = std::ranges::find_if(reference.path, &PathPart::is_range);
  if (range == reference.path.end() || *range->last - range->first >= kMostItems) return {};
  std::vector<Item> items;
  for (int i = range->first; i <= *range->last; ++i) {
    auto element = reference;
    element.path[static_cast<std::size_t>(range - reference.path.begin())] = {.first = i};
    items.emplace_back(std::move(element));
  }
  return items;
}

std::vector<Item> Instances(const Reference& reference, int count) {
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    auto element = reference;
    element.path.insert(element.path.begin(), PathPart{.first = i});
    items.emplace_back(std::move(element));
  }
  return items;
}

/// The part of a value in the file that a path leads to; null: there is none.
const YamlNode* Follow(const YamlNode& value, const std::vector<PathPart>& path) {
  const auto* node = &value;
  for (const auto& part : path) {
    if (part.is_range()) return nullptr;
    if (part.is_member()) {
      const auto* entry = node->Find(part.member);
      node = entry == nullptr ? nullptr : &entry->value;
    } else {
      const auto at = static_cast<std::size_t>(part.first);
      node = at < node->items.size() ? &node->items[at] : nullptr;
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

std::string Escaped(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal.substr(i).starts_with("${")) text += '$';
    text += literal[i];
  }
  return text;
}

class Putter {
 public:
  Putter(const Item& item, int index, Report& report) : item_(item), index_(index), report_(report) {}

  void Put(YamlNode& node) {
    if (node.kind == Kind::kScalar && node.text.find("${i") != std::string::npos) PutScalar(node);
    for (auto& each : node.items) Put(each);
    for (auto& entry : node.entries) Put(entry.value);
  }

 private:
  void PutScalar(YamlNode& node) {
    if (const auto whole = AsReference(node.text); whole && whole->to == ReferenceTo::kItem)
      return PutWhole(node, *whole);
    std::vector<BadReference> bad;
    std::string text;
    for (const auto& piece : SplitAtReferences(node.text, bad)) {
      const auto* reference = std::get_if<Reference>(&piece);
      text += reference == nullptr ? Escaped(std::get<std::string>(piece)) : TextFor(*reference, node);
    }
    for (const auto& each : bad) Refuse(node, Quoted(each.written) + " " + each.reason);
    node.text = std::move(text);
  }

  void PutWhole(YamlNode& node, const Reference& reference) {
    if (std::holds_alternative<Reference>(item_)) {
      node.text = TextFor(reference, node);
    } else if (const auto* value = Follow(std::get<YamlNode>(item_), reference.path)) {
      const auto place = node.place;
      node = *value;
      node.place = place;
    } else {
      Refuse(reference, node);
    }
  }

  std::string TextFor(const Reference& reference, YamlNode& node) {
    if (reference.to == ReferenceTo::kIndex && !reference.path.empty()) Refuse(reference, node);  // no parts
    if (reference.to == ReferenceTo::kIndex) return std::to_string(index_);
    if (reference.to != ReferenceTo::kItem) return WrittenForm(reference);
    if (const auto* later = std::get_if<Reference>(&item_)) {
      auto longer = *later;
      longer.path.insert(longer.path.end(), reference.path.begin(), reference.path.end());
      return WrittenForm(longer);
    }
    const auto* value = Follow(std::get<YamlNode>(item_), reference.path);
    if (value != nullptr && value->kind == Kind::kScalar) return value->text;
    Refuse(reference, node);
    return {};
  }

  void Refuse(const Reference& reference, YamlNode& node) {
    Refuse(node, fmt::format("{} does not fit value {} of foreach", WrittenForm(reference), index_));
  }

  void Refuse(YamlNode& node, std::string message) {
    node.broken = true;
    report_.Error(node.place, std::move(message));
  }

  const Item& item_;
  int index_;
  Report& report_;
};

}  // namespace

std::vector<Item> ItemsOf(const YamlNode& foreach, Report& report,
                          const std::function<std::optional<int>(const std::string& group)>& instances) {
  std::vector<Item> items;
  if (foreach.kind == Kind::kList) {
    for (const auto& value : foreach.items) items.emplace_back(value);
  } else if (const auto reference = AsReference(foreach.text); reference && reference->to == ReferenceTo::kStep) {
    items = Elements(*reference);
    const auto count = items.empty() ? instances(reference->name) : std::nullopt;
    if (count) items = Instances(*reference, *count);
  }
  if (items.size() > kMostItems) items.clear();
  if (items.empty()) {
    report.Error(foreach.place,
                 fmt::format("'foreach' is a list of 1 to {} values, a range such as ${{steps.search.top[0..2]}}, or a "
                             "step with foreach",
                             kMostItems));
  }
  return items;
}

void PutItem(YamlNode& tree, const Item& item, int index, Report& report) { Putter(item, index, report).Put(tree); }

void RefuseItems(const YamlNode& tree, Report& report) {
  if (tree.kind == Kind::kScalar && tree.text.find("${i") != std::string::npos) {
    for (const auto& piece : SplitAtReferences(tree.text)) {
      const auto* reference = std::get_if<Reference>(&piece);
      if (reference != nullptr && IsOfItem(*reference)) {
        report.Error(tree.place, WrittenForm(*reference) + " is only known in a step with foreach");
      }
    }
  }
  for (const auto& item : tree.items) RefuseItems(item, report);
  for (const auto& entry : tree.entries) RefuseItems(entry.value, report);
}

}  // namespace slipway::launcher
