/// Slurm, as the launcher speaks to it: through the helper slipway-slurm, one process for each question.
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
enum class AfterRequeue { kQueued, kHeld };

struct SlurmClientOptions {
  std::filesystem::path helper;  ///< default: that of this installation
  Environment environment = Environment::Inherited();
  /// Longer than Slurm's usual MessageTimeout of 10 s. A controller where nothing listens is known at once.
  std::chrono::milliseconds deadline = std::chrono::seconds(15);
  /// A submission passes through the site's plugins and the checks of burst buffers.
  std::chrono::milliseconds submit_deadline = std::chrono::seconds(40);
};

/// The calls of Slurm that the launcher needs.
///
/// Cost:   a process, reading slurm.conf, a ping and one RPC: about 10 ms where the controller is idle. Ask about many
///         jobs in one call, and again after NextPollAfter.
/// Errors: SlurmError; what a caller can go on from is told apart by its trouble(). Nothing here waits longer than
///         the deadlines.
class SlurmClient {
 public:
  explicit SlurmClient(SlurmClientOptions options = {});

  /// Returns when a controller has answered.
  void Ping() const;
  /// The cluster that answers, as its slurm.conf names it. Cost: a ping, unless something has been asked before.
  std::string ClusterName() const;
  SlurmCluster Cluster() const;
  std::vector<SlurmPartition> Partitions() const;
  std::vector<SlurmNode> Nodes() const;

  /// After kTimeout or kHelper the job may have been submitted all the same: look for its comment with FindJobs.
  Submission Submit(const SubmitRequest& job) const;

  /// Those of these jobs that the controller still remembers; for the number of an array all its records. Several jobs
  /// must be of one owner; none given: who asks.
  std::vector<SlurmJob> Jobs(std::span<const JobId> ids, std::optional<std::uint32_t> owner = {}) const;
  /// Nothing when the controller does not remember it: some minutes after its end, or after it crashed before it had
  /// written down that job.
  /// Nothing also when its number is that of another job by now. Errors: kOtherCluster.
  std::optional<SlurmJob> Job(const JobIdentity& job) const;
  /// One that has ended and that the controller has forgotten, as the site's accounting remembers it; nothing where
  /// there is none. Waits for slurmdbd for five seconds at most.
  std::optional<SlurmJob> PastJob(const JobIdentity& job) const;
  /// The jobs of the owner with exactly this comment.
  std::vector<SlurmJob> FindJobs(std::string_view comment, std::optional<std::uint32_t> owner = {}) const;

  // These look first whether the job of this number is the one that is meant, in the process that acts on it. Their
  // errors: kOtherCluster, kOtherJob, kUnknownJob, kOver, kNotNow, kDenied.
  void Cancel(const JobIdentity& job, StageOut stage_out = StageOut::kAsAsked) const;
  void Signal(const JobIdentity& job, int signal, SignalTarget target) const;
  /// Ends it if it runs, and puts it back into the queue under the same number.
  void Requeue(const JobIdentity& job, AfterRequeue after = AfterRequeue::kQueued) const;
  /// Lets a job go that its owner held, or that a burst buffer's failure has held.
  void Release(const JobIdentity& job) const;

 private:
  Json Ask(const Json& request, std::chrono::milliseconds deadline) const;
  Json Ask(const Json& request) const;

  SlurmClientOptions options_;
  mutable std::string cluster_;  ///< as the last answer named it
};

}  // namespace slipway::launcher
