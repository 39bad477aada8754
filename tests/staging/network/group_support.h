/// Groups of nodes on loopback addresses, each a thread or a process of the test.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "staging/network/stage_across.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {

/// Nodes 127.0.0.1, 127.0.0.2, ... with free ports, a key, one source directory and a tier for each node.
class TestGroup {
 public:
  explicit TestGroup(std::size_t nodes);

  std::filesystem::path source() const { return directory_ / "source"; }
  std::filesystem::path tier(std::size_t node) const { return directory_ / ("tier" + std::to_string(node)); }
  std::filesystem::path operator/(const std::string& name) const { return directory_ / name; }
  std::size_t size() const { return groups.size(); }

  StagingPlan Plan(std::size_t node, DataFormat format = DataFormat::kRaw,
                   VerifyMode verify = VerifyMode::kFormat) const;
  /// What a node published: the content of each file, by name; nothing without a manifest.
  std::optional<std::vector<std::pair<std::string, std::string>>> Published(std::size_t node) const;
  /// Nothing is published on any node and nothing is left over.
  bool NothingAnywhere() const;

  std::vector<NodeGroup> groups;  ///< what each node believes; tests may change it

 private:
  TemporaryDirectory directory_;
};

struct NodeResult {
  std::optional<StagedAcross> staged;
  std::string error;  ///< what() of the Error
};
using NodeBody = std::function<StagedAcross(std::size_t node)>;

/// Runs `body` for each node on a thread of its own.
std::vector<NodeResult> OnAll(std::size_t nodes, const NodeBody& body);
std::vector<NodeResult> StageOnAll(const TestGroup& group, DataFormat format = DataFormat::kRaw,
                                   const StageOptions& options = {});

/// A port of this loopback address where nobody listens. Until this process ends, the kernel gives it to nobody else.
std::uint16_t FreePort(const std::string& host);
/// A connected socket. Errors: SystemError.
UniqueFd ConnectTo(const NodeAddress& address);

}  // namespace slipway::staging
