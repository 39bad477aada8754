/// Checks, before the submission, whether a partition can take a job. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"

namespace slipway::launcher {

/// The known limits of a partition; unknown limits are not checked.
struct PartitionLimits {
  std::string name;
  bool is_default = false;
  bool takes_jobs = true;  ///< false: drained or inactive. One that is down takes jobs, and starts none.
  std::optional<int> max_minutes;
  std::optional<int> max_nodes;  ///< of one job
  int min_nodes = 1;
  std::optional<int> nodes;                   ///< that it has
  std::optional<int> cpus_per_node;           ///< of its largest node, or what a job may use of it
  std::optional<Bytes> memory_per_node;       ///< of its largest node
  std::vector<std::string> allowed_accounts;  ///< empty: all
  std::vector<std::string> denied_accounts;
  std::vector<std::string> allowed_qos;  ///< empty: all
  std::vector<std::string> denied_qos;
  bool needs_reservation = false;
};

/// One sentence for each finding, with the field to change.
struct PartitionFindings {
  std::vector<std::string> refusals;  ///< why it can never take the job
  std::vector<std::string> doubts;    ///< limits that the QOS of the job may lift: Slurm decides
  bool is_closed = false;             ///< it takes no jobs at present

  bool TakesIt() const { return refusals.empty() && !is_closed; }
};

/// A job that names a QOS is not refused for the partition's limits of time and nodes: QOS with flags such as
/// PartitionTimeLimit lift them, and which flags a QOS has is not known here.
PartitionFindings CheckAgainstPartition(const BatchJob& job, const PartitionLimits& partition);

/// Checks the partitions that the job names, or the default one. One partition that takes the job is enough. Returns
/// what Slurm may refuse all the same, as warnings; nothing where a partition takes the job without doubt.
/// Errors: Error(kUsage) with all reasons; for an unknown partition with the nearest name and the existing ones;
/// SlurmError(kClosed) when one would take the job and is closed at present.
std::vector<std::string> RequireAPartition(const BatchJob& job, const std::vector<PartitionLimits>& partitions);

}  // namespace slipway::launcher
