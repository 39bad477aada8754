/// The launcher's interface to Slurm. Each request runs the helper slipway-slurm as a process.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/environment.h"
#include "core/json.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

enum class StageOut { kAsAsked, kSkip };
/// A file server may show another owner of a run folder than its job has.
enum class OwnerIs { kSure, kInDoubt };

struct SlurmClientOptions {
  std::filesystem::path helper;  ///< default: that of this installation
  Environment environment = Environment::Inherited();
  /// Longer than Slurm's default MessageTimeout of 10 s. A host without a controller is detected at once.
  std::chrono::milliseconds deadline = std::chrono::seconds(15);
  /// A submission passes through the site's plugins and the checks of burst buffers.
  std::chrono::milliseconds submit_deadline = std::chrono::seconds(40);
};

/// The requests to Slurm that the launcher needs.
///
/// Cost:   a process, reading slurm.conf, a ping and one RPC: about 10 ms where the controller is idle. Observe many
/// jobs in one call, and repeat it after NextPollAfter.
/// Errors: SlurmError; its trouble() shows whether the caller can continue. No call takes longer than the deadlines.
class SlurmClient {
 public:
  explicit SlurmClient(SlurmClientOptions options = {});

  /// Returns when a controller has answered.
  void Ping() const;
  /// The cluster that answers, as its slurm.conf names it. Cost: a ping, unless an earlier request was answered.
  std::string ClusterName() const;
  SlurmCluster Cluster() const;
  std::vector<SlurmPartition> Partitions() const;
  std::vector<SlurmNode> Nodes() const;
  /// Empty where the site keeps no accounts.
  SubmitLimits LimitsOnJobs() const;

  /// After kTimeout, kHelper or kController the job may still have been submitted: search for its comment with
  /// FindJobs.
  Submission Submit(const SubmitRequest& job) const;
  /// When the job would start if it were submitted now. Its dependency counts as fulfilled. Errors: as Submit, where
  /// Slurm refuses the job. Cost: the controller tries to place the job, in milliseconds to seconds.
  StartEstimate EstimateStart(const SubmitRequest& job) const;

  /// The jobs of these numbers that the controller remembers; for an array all its records. Several jobs must have one
  /// owner. No owner given: the calling user. Cost with kInDoubt: further RPCs, at most 4, for numbers that are none
  /// of the owner's.
  std::vector<SlurmJob> Jobs(std::span<const JobId> ids, std::optional<std::uint32_t> owner = {},
                             OwnerIs known = OwnerIs::kSure) const;
  /// Nothing when the controller does not remember the job: some minutes after its end, or after a crash before it had
  /// saved the job. Nothing also when the number now belongs to another job. Errors: kOtherCluster.
  std::optional<SlurmJob> Job(const JobIdentity& job) const;
  /// Ended jobs that the controller has forgotten, from the site's accounting; without those that it has no record of.
  /// The last job of each number, which may be another than the one that is meant. Waits for slurmdbd for five seconds
  /// at most.
  std::vector<SlurmJob> PastJobs(std::span<const JobId> ids) const;
  std::optional<SlurmJob> PastJob(const JobIdentity& job) const;
  /// The jobs of the owner with exactly this comment.
  std::vector<SlurmJob> FindJobs(std::string_view comment, std::optional<std::uint32_t> owner = {}) const;

  // These calls first check, in the process that acts, that the job of this number is the right one. Errors:
  // kOtherCluster, kOtherJob, kUnknownJob, kOver, kNotNow, kDenied.
  void Cancel(const JobIdentity& job, StageOut stage_out = StageOut::kAsAsked) const;
  void Signal(const JobIdentity& job, int signal, SignalTarget target) const;
  /// Ends it if it runs, and puts it back into the queue under the same number.
  void Requeue(const JobIdentity& job) const;

 private:
  Json Ask(const Json& request, std::chrono::milliseconds deadline) const;
  Json Ask(const Json& request) const;

  SlurmClientOptions options_;
  mutable std::string cluster_;  ///< as the last answer named it
};

}  // namespace slipway::launcher
