/// The Slurm jobs of steps that wait or run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct LiveJob {
  JobIdentity identity;
  bool waits = true;
  bool is_stuck = false;        ///< what it depends on can never happen: Slurm is about to remove it
  std::string dependency = {};  ///< as Slurm shows it: "afterok:21(unfulfilled),afterok:24_1(unfulfilled)"
};

/// Whether the job waits for this task of an array.
bool WaitsForTask(const LiveJob& job, const JobIdentity& other);
/// Whether the job waits for the end of this job, or of the whole array.
bool WaitsForAll(const LiveJob& job, const JobIdentity& other);

/// By step: its job, or its task of an array; nothing when it has none that lives. A job that has said how its step
/// ended is over, whatever Slurm still does with it. A submission that was killed is found by its comment.
/// Errors: SlurmError. Cost: a request to the controller, and one for a submission that was killed.
std::vector<std::optional<LiveJob>> FindLiveJobs(const RunFolder& folder, const std::vector<std::string>& steps,
                                                 const SlurmClient& slurm);

/// Finds submissions by their comments, each asked for once.
class Submissions {
 public:
  explicit Submissions(const SlurmClient& slurm) : slurm_(slurm) {}

  /// The job of a step whose submission had begun; nothing when it was not submitted. Errors: SlurmError.
  std::optional<LiveJob> Find(const JobIdentity& meant);

 private:
  const SlurmClient& slurm_;
  std::vector<std::pair<std::string, std::vector<SlurmJob>>> known_;
};

}  // namespace slipway::launcher
