#include "staging/dataset/share_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_fields.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kShareSchema = "slipway.shares/1";

struct ShareList {
  std::vector<NodeHolding> nodes;
};

template <class Visitor, MaybeConst<ShareList> Struct>
void Visit(Visitor& visit, Struct& list) {
  visit("nodes", list.nodes);
}

}  // namespace

template <class Visitor, MaybeConst<NodeHolding> Struct>
void Visit(Visitor& visit, Struct& node) {
  visit("name", node.name);
  visit("directory", node.directory);
  visit("records", node.records);
  visit("ranks", node.ranks);
}

std::string RenderShareList(const std::vector<NodeHolding>& nodes) {
  return WriteFields(kShareSchema, ShareList{nodes}).dump() + "\n";
}

std::vector<NodeHolding> ReadShareList(const std::filesystem::path& file) {
  const DocumentName name{fmt::format("'{}'", file.string())};
  return ReadFields<ShareList>(ParseDocument(ReadFile(file), kShareSchema, name), name).nodes;
}

}  // namespace slipway::staging
