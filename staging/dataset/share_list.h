/// Which node holds what when the files of a dataset are shared out to the nodes of a job (`distribute: node-shard`).
/// The launcher writes the list once all files have arrived. Readers compute from it how many steps an epoch has.
///
/// Form ("slipway.shares/1"): schema, nodes in their order: name, directory, records, ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::staging {

struct NodeHolding {
  std::string name;                 ///< of the node
  std::filesystem::path directory;  ///< its share on that node
  std::uint64_t records = 0;
  int ranks = 1;  ///< that read them
};

std::string RenderShareList(const std::vector<NodeHolding>& nodes);
/// Errors: SystemError; Error(kEnvironment) when the file is no such list.
std::vector<NodeHolding> ReadShareList(const std::filesystem::path& file);

}  // namespace slipway::staging
