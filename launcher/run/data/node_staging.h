/// Stages the datasets that each node of a run has for itself, as full copies or shares.
///
/// A member process on each node stages them and holds them until the ranks have ended. All bytes are read once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/run/data/node_member.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class NodeStaging {
 public:
  /// All nodes must have joined. The loop calls `on_failure` after Begin, when a node that is not lost no longer holds
  /// its data and could not stage it again.
  NodeStaging(const RunFolder& folder, const Plan& plan, Nodes& nodes, EventLoop& loop, Interrupt& interrupt,
              Output& output, std::function<void(const Error&)> on_failure);
  NodeStaging(const NodeStaging&) = delete;
  NodeStaging& operator=(const NodeStaging&) = delete;
  /// Closes the connections; the members then release their data.
  ~NodeStaging();

  /// Returns once every node holds all datasets of plans() for which IsStagedOnEachNode is true. Serves the loop
  /// meanwhile.
  /// Errors: the first error of a node, naming it; Error(kInterrupted) when the user ends it. Errors of nodes: no tier
  /// fits on all nodes, the member or the node is lost, what StageAcrossNodes throws.
  void Begin();

  /// The plans of all datasets, in the run's order. After Begin() with the tiers that all nodes have agreed on.
  const std::vector<staging::StagingPlan>& plans() const { return plans_; }

  /// The places of the nodes' shares of a dataset for whose plan IsSharedOut is true. After Begin().
  const StagedPlace& SharesOf(const std::string& dataset) const { return shares_.at(dataset); }

  /// Releases the data on all nodes; data kept for this run only is removed. Waits for this with a time limit. Data
  /// that is left causes a warning; the run continues.
  void Release();

 private:
  using Members = std::vector<NodeMember*>;

  void StartAll();
  void Start(NodeMember& member);
  std::vector<std::string> CommandOf(const NodeMember& member) const;
  std::filesystem::path LogsOf(const NodeMember& member) const;
  /// Serves the loop until `reached`. Errors: as Begin.
  void Await(const std::function<bool()>& reached, const std::function<void()>& look = {});
  [[noreturn]] void ThrowFailure();
  void AwaitHello();
  void Agree();
  void TellSkipped(const std::string& dataset, const std::vector<std::string>& skipped);
  std::vector<member::MemberHello> Hellos() const;
  void StageOne(const staging::StagingPlan& plan);
  void StageCopies(const staging::StagingPlan& plan);
  void StageTogether(const staging::StagingPlan& plan, const Members& members);
  void StageShares(const staging::StagingPlan& plan);
  StagedPlace ListShares(const std::string& dataset) const;
  void AwaitReady(const std::string& dataset, Bytes total, const Members& members);
  Members All() const;
  void Announce(const staging::StagingPlan& plan, Seconds elapsed);
  void WarnOfUnread(const std::string& dataset);
  void OnMemberFailed(NodeMember& member);
  void StageAgain(NodeMember& member);
  void ReleaseOne(NodeMember& member, const std::vector<member::TierOfDataset>& datasets);
  /// Serves the loop until no member holds anything any more, or the patience is over.
  void AwaitRelease(std::chrono::nanoseconds patience);
  void StopThoseThatStay();

  const RunFolder& folder_;
  const Plan& plan_;
  std::vector<staging::StagingPlan> plans_;
  Nodes& nodes_;
  EventLoop& loop_;
  Interrupt& interrupt_;
  Output& output_;
  std::function<void(const Error&)> on_failure_;
  std::filesystem::path key_;
  std::filesystem::path logs_;
  std::map<std::string, StagedPlace> shares_;  ///< by dataset
  bool holding_ = false;                       ///< Begin has returned
  std::vector<int> starts_left_;
  std::vector<std::unique_ptr<NodeMember>> members_;  ///< by node
  std::unique_ptr<ShimListener> shim_listener_;
};

}  // namespace slipway::launcher
