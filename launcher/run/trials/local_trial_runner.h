/// Runs trials on this machine or on the nodes of an allocation: the launcher's side of the ensemble's port.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ensemble/model/trial_runner.h"
#include "launcher/attempt/attempt.h"
#include "launcher/ranks/local/supervisor.h"
#include "launcher/run/context/run_context.h"
#include "launcher/run/ending/save_time.h"
#include "launcher/run/ending/time_limit_watch.h"
#include "launcher/run/trials/trial_logs.h"

namespace slipway::launcher {

class LocalTrialRunner final : public ensemble::TrialRunner {
 public:
  /// `cores_are_shared`: trials are not bound to cores.
  LocalTrialRunner(RunContext& context, bool cores_are_shared, TrialLogs& logs);
  ~LocalTrialRunner() override;

  std::optional<ProcessIdentity> SupervisorIdentity(const std::vector<ensemble::AllocatedNode>& place) override;
  ProcessIdentity Prepare(const ensemble::TrialStart& start) override;
  void Release(ensemble::TrialNumber trial) override;
  void Stop(ensemble::TrialNumber trial, ensemble::StopReason reason) override;
  void EndOrphan(const ProcessIdentity& identity) override;
  std::vector<ensemble::TrialEvent> Recover(ensemble::TrialNumber trial, int attempt) override;
  std::string WhyNoDiskSpace(ensemble::DiskSpaceCheck check) override;
  std::vector<ensemble::TrialEvent> Wait(std::chrono::nanoseconds limit) override;

 private:
  class Running;
  /// The supervisor and the resources of one node.
  struct Node {
    std::unique_ptr<Supervisor> supervisor;
    int number = 0;
    bool own_cores = true;  ///< no other job runs on them
    bool lost = false;
    NodeDevices devices = {};
  };

  std::filesystem::path FolderOf(ensemble::TrialNumber trial) const;

  void WarnOfPattern(ensemble::TrialNumber trial, std::string_view what);
  void WarnOfNoWeights(ensemble::TrialNumber trial, ensemble::TrialNumber parent);
  void AddNodes(Nodes& nodes);
  const Node& NodeOf(const ensemble::AllocatedNode& share) const;
  std::vector<int> CoresOf(const ensemble::AllocatedNode& share) const;
  NodeDevices DevicesOf(const ensemble::AllocatedNode& share) const;
  TrialShare ShareOf(const ensemble::TrialStart& start) const;
  Supervisor* SupervisorFor(const std::vector<ensemble::AllocatedNode>& place) const;
  NodesOfAttempt WhereIs(const std::vector<ensemble::AllocatedNode>& place) const;
  void OnInterrupt();
  void LookForLostNodes();
  std::optional<Seconds> LookForSlowestCheckpoint();

  RunContext& context_;
  std::map<std::string, Node> nodes_;  ///< by name; this machine has none
  bool cores_are_shared_;
  TrialLogs& logs_;
  bool has_warned_of_pattern_ = false;
  bool has_warned_of_no_weights_ = false;
  std::map<ensemble::TrialNumber, std::unique_ptr<Running>> running_;
  std::vector<ensemble::TrialEvent> events_;
  SlowestOfTrials slowest_;
  std::unique_ptr<TimeLimitWatch> end_of_job_;
  std::optional<Seconds> left_in_job_;  ///< when its time limit was near
};

}  // namespace slipway::launcher
