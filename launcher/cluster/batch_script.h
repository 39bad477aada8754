/// The batch script of a run: what Slurm is asked for, and what runs when it has been given. Pure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "launcher/cluster/burst_buffer.h"
#include "launcher/cluster/job_terms.h"

namespace slipway::launcher {

/// A job as sbatch or libslurm may be asked for it. All paths are absolute.
struct BatchJob : JobTerms {
  int ranks_per_node = 1;
  int cpus_per_rank = 1;
  int gpus_per_rank = 0;
  std::optional<Bytes> memory_per_node;   ///< 0: all of it
  std::optional<int> time_limit_minutes;  ///< whole minutes are all that Slurm knows
  int signal_lead_s = 0;                  ///< SIGUSR1 to the script so long before the time limit; 0: none
  std::filesystem::path directory;        ///< the run folder: where the script starts
  std::filesystem::path output;           ///< of the script, both streams, appended to
  std::string shifter_image;              ///< what the job asks of the plugin of Shifter
  std::vector<std::string> extra;         ///< further options of sbatch
  BurstBuffer burst_buffer;
  std::string staged_in;  ///< the folder of the buffer with a folder for each dataset that a directive stages there
  std::vector<std::string> modules;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;  ///< what the script becomes; gets Slurm's signals

  int tasks() const { return nodes * ranks_per_node; }
};

/// The script, for bash. `#SBATCH` lines say what the job's description says to libslurm, which does not read them;
/// burst-buffer directives follow, before the first command, after which Slurm ignores them.
///
/// Result: any text in `environment`, `modules`, `command` and the paths reaches the program as it is.
/// Errors: Error(kUsage) naming the option and the reason when a text cannot stand in a directive, a variable has no
/// name, or a text holds a NUL; what BurstBufferDirectives throws.
std::string RenderBatchScript(const BatchJob& job);

/// What a batch script does about `modules`, for bash on this host: exit status 3 when one of them cannot be loaded, 0
/// where there are no modules at all.
std::string RenderModuleCheck(const std::vector<std::string>& modules);

/// How many hardware threads of a core are to count as CPUs: one, since cpus_per_rank are cores; 0 where an option in
/// `extra` says it.
int ThreadsPerCore(const BatchJob& job);

/// The options of the job that libslurm has no field for, as they stand in the script: it must be submitted with sbatch
/// when there are any.
std::vector<std::string> OptionsOnlyForSbatch(const BatchJob& job);

/// The whole minutes that a job must ask for to have `limit`: at least 1.
int WholeMinutes(Seconds limit);

}  // namespace slipway::launcher
