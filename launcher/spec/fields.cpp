#include "launcher/spec/fields.h"

#include <algorithm>
#include <array>

#include "core/nearest_word.h"

namespace slipway::launcher {
namespace {

/// Splits the first key off a path of the table: "data.*.tier" -> "data"; "objectives[].goal" -> "objectives".
std::string_view TakeKey(std::string_view& path) {
  const std::size_t end = std::min(path.find('.'), path.find("[]"));
  const std::string_view key = path.substr(0, end);
  path.remove_prefix(key.size());
  if (path.starts_with("[]")) path.remove_prefix(2);
  if (path.starts_with(".")) path.remove_prefix(1);
  return key;
}

std::string_view LastKey(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

FieldNode TreeOf(const std::vector<Field>& fields) {
  FieldNode root;
  for (const Field& field : fields) {
    FieldNode* node = &root;
    std::string_view rest = field.path;
    while (!rest.empty()) {
      const std::string key(TakeKey(rest));
      const auto found = std::find_if(node->children.begin(), node->children.end(),
                                      [&](const auto& child) { return child.first == key; });
      node = found == node->children.end() ? &node->children.emplace_back(key, FieldNode{}).second : &found->second;
    }
    node->field = &field;
  }
  return root;
}

const FieldNode& FieldTree() {
  static const FieldNode kTree = TreeOf(Fields());
  return kTree;
}

bool FieldNode::TakesAnyName() const { return children.size() == 1 && children[0].first == "*"; }

const FieldNode* FieldNode::Child(std::string_view key) const {
  if (TakesAnyName()) return &children[0].second;
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const auto& child) { return child.first == key; });
  return found == children.end() ? nullptr : &found->second;
}

namespace {

/// Words that are customary elsewhere, and the field that they stand for. Arguments are those of the program.
constexpr std::pair<std::string_view, std::string_view> kCustomaryFields[] = {
    {"ranks", "launch.ranks_per_node"},
    {"nprocs", "launch.ranks_per_node"},
    {"ntasks", "launch.ranks_per_node"},
    {"ntasks_per_node", "launch.ranks_per_node"},
    {"cpus", "launch.cpus_per_rank"},
    {"cpus_per_task", "launch.cpus_per_rank"},
    {"gpus", "launch.gpus_per_rank"},
    {"memory", "launch.memory_per_rank"},
    {"walltime", "launch.time_limit"},
    {"search_space", "ensemble.space"},
    {"hyperparameters", "ensemble.space"},
    {"epochs", "train.args.epochs"},
    {"batch_size", "train.args.batch_size"},
    {"lr", "train.args.lr"},
    {"learning_rate", "train.args.learning_rate"},
};

std::string CustomaryField(std::string_view word) {
  const auto found = std::ranges::find(kCustomaryFields, word, [](const auto& entry) { return entry.first; });
  return found == std::end(kCustomaryFields) ? std::string() : std::string(found->second);
}

}  // namespace

std::string SuggestField(const FieldNode& section, std::string_view key) {
  constexpr std::size_t kLongestKey = 64;
  if (key.size() > kLongestKey) return {};
  for (const Field& field : Fields()) {
    if (LastKey(field.path) == key && field.path.find('*') == std::string::npos) return field.path;
  }
  std::vector<std::string> names;
  for (const auto& child : section.children) names.push_back(child.first);
  const auto nearest = NearestWord(key, names);
  return nearest.empty() ? CustomaryField(key) : nearest;
}

bool MayStandInSettings(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kOwn = {"name", "description", "tags", "data", "train", "ensemble"};
  return std::find(kOwn.begin(), kOwn.end(), key) == kOwn.end();
}

}  // namespace slipway::launcher
