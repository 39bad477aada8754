/// batch_job.json of a run folder: the job that a run was submitted as.
///
/// Only who submits writes it, and who learns how the job's stage-out ended; state.json is the manager's, which may
/// write there before the number is known.
#pragma once

#include <string>

#include "launcher/cluster/job_identity.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct BatchRecord {
  JobIdentity job;          ///< none: none was submitted, or nobody was told its number
  bool stages_out = false;  ///< directives copy results after its script; how that went is not known yet
  std::string lost;         ///< why these results did not arrive; empty: they did, or there were none
  std::string doubt;        ///< why nobody was told whether a job was submitted; empty: no doubt
};

/// A record that is missing or damaged is that of no job.
BatchRecord ReadBatchRecord(const RunFolder& folder);
/// Errors: SystemError.
void WriteBatchRecord(const RunFolder& folder, const BatchRecord& record);
/// A missing one is fine.
void RemoveBatchRecord(const RunFolder& folder);

}  // namespace slipway::launcher
