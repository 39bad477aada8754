/// batch_job.json of a run folder, or of the folder of a step: the job as which it was submitted.
///
/// Only the submitting process writes it, and a process that learns how the job's stage-out ended. state.json belongs
/// to the manager, which may write it before the number is known.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/cluster/job_identity.h"

namespace slipway::launcher {

struct BatchRecord {
  JobIdentity job;          ///< no job: none was submitted, or its number is unknown
  bool stages_out = false;  ///< directives copy results after its script; the outcome is not known yet
  std::string lost;         ///< why these results did not arrive; empty: they did, or there were none
  std::string doubt;        ///< why it is unknown whether a job was submitted; empty: no doubt
};

/// Reads the record of a run, or of a step of a workflow; a missing or damaged one means no job.
BatchRecord ReadBatchRecord(const std::filesystem::path& folder);
/// Errors: SystemError.
void WriteBatchRecord(const std::filesystem::path& folder, const BatchRecord& record);
/// Removes the record, if it exists.
void RemoveBatchRecord(const std::filesystem::path& folder);

}  // namespace slipway::launcher
