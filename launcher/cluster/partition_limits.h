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
  bool takes_jobs = true;  ///< false: down, drained or inactive
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

/// Why this partition cannot take the job: one sentence for each reason, with the field to change. Empty when it can.
std::vector<std::string> CheckAgainstPartition(const BatchJob& job, const PartitionLimits& partition);

/// Checks the partitions that the job names, or the default one. One partition that takes the job is enough.
/// Errors: Error(kUsage) with all reasons; for an unknown partition with the nearest name and the existing ones.
void RequireAPartition(const BatchJob& job, const std::vector<PartitionLimits>& partitions);

}  // namespace slipway::launcher
