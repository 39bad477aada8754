/// The command line and the environment of the training program. Pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/mllog.h"
#include "launcher/spec/command_line.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The words of one rank's command: a bundled trainer by its full path, or the user's command.
///
/// `parameters` (a trial's point, an object that may be empty) override `train.args`. A command with a `{name}`
/// placeholder gets its values only there; any other program gets `--name value` for each, and for `train.flags`
/// `--name` alone. `own`: the values for `{slipway.NAME}`; without them the placeholders stay.
std::vector<std::string> TrainingCommand(const TrainSpec& train, const Json& parameters, const OwnValues& own = {});

/// `train.args` overridden by `parameters`, as a JSON object. This is SLIPWAY_PARAMS before its own names are replaced.
Json EffectiveParameters(const TrainSpec& train, const Json& parameters);

/// The parameters of run number `repeat` of a configuration. An integer `seed` of the program is raised by `repeat`.
Json WithSeedOfRepeat(const TrainSpec& train, const Json& parameters, int repeat);

/// The files and directories of one attempt.
struct AttemptPlace {
  std::filesystem::path run;  ///< run folder (of a trial: the trial's)
  int attempt = 1;
  std::filesystem::path directory;    ///< run/attempt-N
  std::filesystem::path checkpoints;  ///< run/checkpoints, or in a tier
  std::filesystem::path outputs;      ///< run/outputs, or in the same tier
  std::filesystem::path resume_from;  ///< a valid checkpoint; empty starts fresh

  std::filesystem::path metrics() const { return directory / "metrics.jsonl"; }
  std::filesystem::path stop_file() const { return directory / "stop.json"; }
  /// There once the program has learned of the stop file from the runtime (runtime/stop/stop_file.h).
  std::filesystem::path stop_seen_file() const { return directory / "stop.json.seen"; }
  /// Shared by all attempts.
  std::filesystem::path mllog() const { return MllogIn(run); }
};

/// "attempt-3".
std::string AttemptFolder(int attempt);
/// The place of an attempt of the run or trial in `run`; checkpoints and outputs are not set yet.
AttemptPlace PlaceOfAttempt(std::filesystem::path run, int attempt);

/// The name of a dataset, input or output as environment variables have it: "val-set" is VAL_SET.
std::string NameInVariable(std::string name);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Where the ranks find a dataset.
struct StagedPlace {
  std::string dataset;
  std::filesystem::path directory;  ///< of all ranks; empty where the nodes hold shares
  /// With shares: the list of them (staging/dataset/share_list.h), and each node's own directory.
  std::filesystem::path shares = {};
  std::map<int, std::filesystem::path> on_node = {};
};
using StagedDirectories = std::vector<StagedPlace>;

/// As SLIPWAY_CONFIG and plan.json have it.
Json ToJson(Determinism determinism);

/// Values for the command and its environment that depend on where they run.
struct CommandPlace {
  OwnValues own = {};
  std::filesystem::path python_modules = {};  ///< where Python looks for modules, too; empty: nowhere else
};

/// What only the program of a trial gets.
struct TrialTerms {
  std::int64_t trial = 0;            ///< its number, as in `slipway trials ls`
  int repeat = 0;                    ///< which run of its configuration, from 0
  std::optional<double> limit = {};  ///< how far it may go now, in the scheduler's resource; nothing: to its end
};

/// All variables that Slipway sets for a rank. The user's `launch.env` comes later and overrides them.
Variables TrainingVariables(const Spec& spec, const std::string& spec_hash, const StagedDirectories& data,
                            const AttemptPlace& place, const Json& parameters, const TrialTerms& terms = {},
                            const CommandPlace& at = {});

/// The variables of the ranks of one node: the directories of its shares.
Variables VariablesOfNode(const StagedDirectories& data, int node);

}  // namespace slipway::launcher
