#include "staging/dataset/share_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kShareSchema = "slipway.shares/1";

NodeHolding HoldingFrom(const Json& json) {
  return {json.at("name").get<std::string>(), json.at("directory").get<std::string>(),
          json.at("records").get<std::uint64_t>(), json.at("ranks").get<int>()};
}

}  // namespace

std::string RenderShareList(const std::vector<NodeHolding>& nodes) {
  auto list = Json::array();
  for (const auto& node : nodes) {
    list.push_back({{"name", node.name},
                    {"directory", node.directory.string()},
                    {"records", node.records},
                    {"ranks", node.ranks}});
  }
  return Json{{"schema", kShareSchema}, {"nodes", std::move(list)}}.dump() + "\n";
}

std::vector<NodeHolding> ReadShareList(const std::filesystem::path& file) try {
  const auto document = Json::parse(ReadFile(file));
  if (document.at("schema") != kShareSchema) throw Error(ErrorKind::kEnvironment, "it has an unknown schema");
  std::vector<NodeHolding> nodes;
  for (const auto& node : document.at("nodes")) nodes.push_back(HoldingFrom(node));
  return nodes;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is damaged: {}", file.string(), error.what()));
}

}  // namespace slipway::staging
