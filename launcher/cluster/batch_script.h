/// The batch script of a run: what it requests from Slurm, and what it runs. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "launcher/cluster/burst_buffer.h"
#include "launcher/cluster/job_terms.h"

namespace slipway::launcher {

/// A job, for sbatch or libslurm. All paths are absolute.
struct BatchJob : JobTerms {
  int ranks_per_node = 1;
  int cpus_per_rank = 1;
  int gpus_per_rank = 0;
  std::string gpu_type;                   ///< empty: any
  std::optional<Bytes> memory_per_node;   ///< 0: all of it
  std::optional<int> time_limit_minutes;  ///< Slurm counts whole minutes
  std::string array;                      ///< tasks of a job array, "0,3-5"; empty: one job
  std::int64_t array_size = 0;            ///< how many these are
  int signal_lead_s = 0;                  ///< SIGUSR1 to the script this long before the time limit; 0: none
  std::filesystem::path directory;        ///< the run folder: where the script starts
  std::filesystem::path output;           ///< of the script, both streams, appended to; see OutputOfTask
  std::string shifter_image;              ///< the image, for Slurm's plugin of Shifter
  std::vector<std::string> extra;         ///< further options of sbatch
  BurstBuffer burst_buffer;
  std::string staged_in;  ///< the buffer's folder with one folder for each dataset that directives stage
  std::vector<std::string> modules;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;  ///< replaces the script's process; gets Slurm's signals

  int tasks() const { return nodes * ranks_per_node; }
};

/// Where a task of an array writes, whose `output` is "job.log": "job-3.log".
std::filesystem::path OutputOfTask(const std::filesystem::path& output, std::string_view task);

/// The output as Slurm takes it.
std::string OutputPattern(const BatchJob& job);

/// The GPUs of a node: "2", "a100:2"; empty: none.
std::string GpusPerNode(const BatchJob& job);

/// The script, for bash. `#SBATCH` lines repeat the job's description, because libslurm ignores them. Burst-buffer
/// directives stand before the first command: Slurm ignores later ones.
///
/// Result: any text in `environment`, `modules`, `command` and the paths reaches the program unchanged.
/// Errors: Error(kUsage) naming the option and the reason: a text that a directive cannot hold, a variable without a
/// name, a text with a NUL; what BurstBufferDirectives throws.
std::string RenderBatchScript(const BatchJob& job);

/// The part of a batch script that loads `modules`, as a check for bash on this host. Exit status 3: one of them cannot
/// be loaded. 0: all can be loaded, or this host has no module command.
std::string RenderModuleCheck(const std::vector<std::string>& modules);

/// The number of hardware threads of a core that count as CPUs: 1, since cpus_per_rank counts cores. 0 when an option
/// in `extra` sets it.
int ThreadsPerCore(const BatchJob& job);

/// The options of the job without a field in libslurm, as they stand in the script. A job with such options must be
/// submitted with sbatch.
std::vector<std::string> OptionsOnlyForSbatch(const BatchJob& job);

/// The whole minutes to request for `limit`: at least 1.
int WholeMinutes(Seconds limit);

}  // namespace slipway::launcher
