#include "launcher/ranks/nodes/supervisor_on_node.h"

#include <fmt/format.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

class OnNode final : public SupervisorHost {
 public:
  OnNode(Nodes& nodes, int node) : nodes_(nodes), node_(node) {}

  UniqueFd Begin() override {
    if (const auto trouble = Trouble(); !trouble.empty())
      throw Error(ErrorKind::kEnvironment, trouble, fmt::format("see why: scontrol show node {}", HostName()));
    return nodes_.OpenSupervisor(node_);
  }

  /// A later manager need not look for it: it ends with this one's connection to the node.
  ProcessIdentity Identity() const override { return {}; }
  std::string HostName() const override { return nodes_.FactsOf(node_).name; }
  void KillGroup(pid_t group) override { nodes_.KillGroup(node_, group); }
  /// Which supervisor it was is not known here.
  void KillByTag(const std::vector<std::uint64_t>&) override {}
  /// One that is stuck there ends with its agent.
  void Kill() override {}
  void Leave() override {}
  std::string Trouble() const override { return nodes_.TroubleOf(node_); }

 private:
  Nodes& nodes_;
  int node_;
};

}  // namespace

std::unique_ptr<SupervisorHost> SupervisorOn(Nodes& nodes, int node) { return std::make_unique<OnNode>(nodes, node); }

}  // namespace slipway::launcher
