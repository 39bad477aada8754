#include "launcher/plan/environment_table.h"

#include <fmt/format.h>

#include <string_view>

namespace slipway::launcher {
namespace {

enum class VariableUse {
  kCommands,      ///< read by `slipway`
  kProgram,       ///< set for the ranks of a training program
  kNotification,  ///< set for the command of a notification
  kLibraries      ///< read by libslipway, the batch reader and their helpers, in a run or outside of one
};

struct EnvironmentVariable {
  std::string_view name;  ///< <NAME> stands for the upper-case name of a dataset
  VariableUse use;
  std::string_view meaning;
};

using enum VariableUse;

constexpr EnvironmentVariable kVariables[] = {
    {"SLIPWAY_RUNS", kCommands, "folder of the run folders; `--runs-dir` overrides it; default `./runs`"},
    {"SLIPWAY_ENGINE", kCommands, "what `engine: auto` means here: `local`, `slurm` or `auto`"},
    {"SLIPWAY_SITE", kCommands, "settings file of the site; default `/etc/slipway/site.yaml`"},
    {"SLIPWAY_TIER_RAM", kCommands, "directory of the tier `ram`; default `/dev/shm`"},
    {"SLIPWAY_TIER_NODE", kCommands, "directory of the tier `node`; default `$TMPDIR`, else `/tmp`"},
    {"SLIPWAY_TIER_BURST", kCommands, "directory of the tier `burst`"},
    {"SLIPWAY_LOG", kCommands, "log on standard error: `debug`, `info`, `warn`, `error`; default off"},
    {"SLIPWAY_PROGRAM", kCommands, "the `slipway` program that `slipway.Study` and `slipway.launch` start"},
    {"SLIPWAY_GPU_LOCKS", kCommands, "folder where runs lock their GPUs; default a private one in `/tmp`"},
    {"NO_COLOR", kCommands, "when set: no colours"},
    {"XDG_CONFIG_HOME", kCommands, "`slipway/config.yaml` there holds your settings; default `~/.config`"},

    {"RANK", kProgram, "number of the rank in the run"},
    {"WORLD_SIZE", kProgram, "number of ranks"},
    {"LOCAL_RANK", kProgram, "number of the rank on its node"},
    {"MASTER_ADDR", kProgram, "host of rank 0"},
    {"MASTER_PORT", kProgram, "a free port on that host"},
    {"SLIPWAY_RUN_DIR", kProgram, "folder of the run, or of the trial"},
    {"SLIPWAY_WORKDIR", kProgram, "working directory in which the program started"},
    {"SLIPWAY_SPEC_DIR", kProgram, "folder of the spec"},
    {"SLIPWAY_OUTPUT_DIR", kProgram, "folder for results; they reach the run folder"},
    {"SLIPWAY_DATA_<NAME>", kProgram, "folder of the staged files of dataset NAME"},
    {"SLIPWAY_SHARES_<NAME>", kProgram, "file that lists which node holds which files"},
    {"SLIPWAY_PARAMS", kProgram, "JSON of `train.args`, in a trial with its parameters"},
    {"SLIPWAY_CHECKPOINT_DIR", kProgram, "folder for checkpoints"},
    {"SLIPWAY_RESUME_FROM", kProgram, "checkpoint to continue from; empty: start fresh"},
    {"SLIPWAY_STOP_FILE", kProgram, "when this file exists: write a checkpoint and end with status 75"},
    {"SLIPWAY_METRICS", kProgram, "file to append metric lines to"},
    {"SLIPWAY_MLLOG", kProgram, "file of the MLPerf log, with `mllog`"},
    {"SLIPWAY_ATTEMPT", kProgram, "number of the attempt, from 1"},
    {"SLIPWAY_TRIAL", kProgram, "number of the trial, in an ensemble"},
    {"SLIPWAY_REPEAT", kProgram, "which repeat of its configuration runs, from 0"},
    {"SLIPWAY_RESOURCE", kProgram, "metric that the scheduler counts a trial's progress by"},
    {"SLIPWAY_RESOURCE_LIMIT", kProgram, "where the scheduler pauses the trial; empty: nowhere"},
    {"SLIPWAY_CONFIG", kProgram, "JSON of the settings for libslipway and the batch reader"},

    {"SLIPWAY_STEP", kProgram, "name of the step, in a workflow"},
    {"SLIPWAY_STEP_DIR", kProgram, "folder of the step in the run of its workflow"},
    {"SLIPWAY_INPUT_<NAME>", kProgram, "path of input NAME of the step"},
    {"SLIPWAY_OUTPUT_<NAME>", kProgram, "path to write output NAME of the step to"},

    {"SLIPWAY_EVENT", kNotification, "what it is about: `end`, `failure`, `best` or `hang`"},
    {"SLIPWAY_RUN", kNotification, "id of the run"},
    {"SLIPWAY_RUN_NAME", kNotification, "name of its experiment"},
    {"SLIPWAY_STATE", kNotification, "state of the run"},
    {"SLIPWAY_REASON", kNotification, "why it ended, failed or hangs; one line"},
    {"SLIPWAY_BEST", kNotification, "metric and value of the best trial; empty without"},
    {"SLIPWAY_BEST_TRIAL", kNotification, "number of that trial"},

    {"SLIPWAY_GPU_EXCHANGE", kLibraries,
     "who adds up tensors in GPU memory: `auto`, `staged`, `direct`, `nccl`, `mpi`"},
    {"SLIPWAY_GPU_WAIT", kLibraries, "who waits for GPUs that add up by themselves: `cpu` (default), `events`"},
    {"SLIPWAY_GPU_SUM_THREADS", kLibraries, "threads that add up with `staged`: 1 to 64; default: measured, up to 8"},
    {"SLIPWAY_NCCL", kLibraries, "the file of NCCL or RCCL, instead of the one found in process or system"},
    {"SLIPWAY_ALGORITHMS", kLibraries, "allreduce algorithms by message size, before every other source"},
    {"SLIPWAY_ALGORITHM_TABLE", kLibraries, "file with a measured table of algorithms"},
    {"SLIPWAY_WAYS", kLibraries, "keeps measured ways of shared memory, and MPIs that take GPU memory"},
    {"SLIPWAY_RANKS_PER_NODE", kLibraries, "treat so many ranks as one node, to test several nodes on one"},
    {"SLIPWAY_SHARED_MEMORY_LIMIT", kLibraries, "most shared memory of a rank, such as `8GiB`; `0`: none"},
    {"SLIPWAY_TORCH_MEMORY", kLibraries, "`0`: PyTorch makes no gradients in shared memory; they are copied there"},
    {"SLIPWAY_MPI_CHECK", kLibraries, "`0`: programs with the other MPI may run as ranks that are alone"},
    {"SLIPWAY_LIBRARY", kLibraries, "the libslipway that the Python package loads"},
    {"SLIPWAY_READER_LIBRARY", kLibraries, "the batch reader that the Python package loads"},
    {"SLIPWAY_HDF5_MEMORY", kLibraries, "most memory to open an HDF5 file; default half of the machine's"},
    {"SLIPWAY_HDF5_SECONDS", kLibraries, "most processor time to open an HDF5 file; default 60"},
};

constexpr std::string_view kIntroduction = R"(# Environment variables

Variables that you may set, and variables that a training program finds. `slipway plan` prints the values of a run.
`slipway manual --environment` writes this page. When a program of a run starts another run, that one's ranks get none
of the variables that the first run has set. The same holds for the commands of a workflow inside a trial.
)";

std::string SectionOf(VariableUse use, std::string_view heading) {
  auto text = fmt::format("\n## {}\n\n| variable | meaning |\n|---|---|\n", heading);
  for (const auto& variable : kVariables) {
    if (variable.use == use) text += fmt::format("| `{}` | {} |\n", variable.name, variable.meaning);
  }
  return text;
}

constexpr std::string_view kOfName = "<NAME>";

}  // namespace

void LeaveOuterProgram(Environment& environment) {
  if (!environment.Get("SLIPWAY_RUN_DIR")) return;  // every program of a run has it
  for (const auto& variable : kVariables) {
    if (variable.use != kProgram) continue;
    if (variable.name.ends_with(kOfName)) {
      environment.UnsetAll(variable.name.substr(0, variable.name.size() - kOfName.size()));
    } else {
      environment.Unset(variable.name);
    }
  }
}

std::string EnvironmentPage() {
  return std::string(kIntroduction) + SectionOf(kCommands, "Read by slipway") +
         SectionOf(kProgram, "Set for training programs") +
         SectionOf(kNotification, "Set for the commands of notifications") +
         SectionOf(kLibraries, "Read by the libraries");
}

}  // namespace slipway::launcher
