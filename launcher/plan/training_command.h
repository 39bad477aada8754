/// How the training program is called: its words, and what CONTRACTS calls its environment. Pure functions.
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
/// `parameters` (a trial's point; an object, may be empty) override `train.args`. A command that uses a `{name}`
/// placeholder gets its values there and nowhere else; any other program gets `--name value` for each. `own`: what
/// `{slipway.NAME}` stands for; without, it stays.
std::vector<std::string> TrainingCommand(const TrainSpec& train, const Json& parameters, const OwnValues& own = {});

/// `train.args` overridden by `parameters`, as a JSON object: SLIPWAY_PARAMS, but for own names.
Json EffectiveParameters(const TrainSpec& train, const Json& parameters);

/// The parameters of a trial's run number `repeat`: where the program takes an integer `seed`, it is raised by that.
Json WithSeedOfRepeat(const TrainSpec& train, const Json& parameters, int repeat);

/// Where one attempt reads and writes.
struct AttemptPlace {
  std::filesystem::path run;  ///< run folder (of a trial: the trial's)
  int attempt = 1;
  std::filesystem::path directory;    ///< run/attempt-N
  std::filesystem::path checkpoints;  ///< run/checkpoints, or in a tier
  std::filesystem::path outputs;      ///< run/outputs, or in the same tier
  std::filesystem::path resume_from;  ///< a valid checkpoint; empty starts fresh

  std::filesystem::path metrics() const { return directory / "metrics.jsonl"; }
  std::filesystem::path stop_file() const { return directory / "stop.json"; }
  /// Of all attempts.
  std::filesystem::path mllog() const { return MllogIn(run); }
};

/// "attempt-3".
std::string AttemptFolder(int attempt);
/// Of an attempt of the run or trial in `run`; checkpoints and outputs are still open.
AttemptPlace PlaceOfAttempt(std::filesystem::path run, int attempt);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Where the ranks find a dataset.
struct StagedPlace {
  std::string dataset;
  std::filesystem::path directory;  ///< of all ranks; empty where the nodes hold shares
  /// Where they do: the list of them (staging/dataset/share_list.h), and on each node its own.
  std::filesystem::path shares = {};
  std::map<int, std::filesystem::path> on_node = {};
};
using StagedDirectories = std::vector<StagedPlace>;

/// As SLIPWAY_CONFIG and plan.json have it.
Json ToJson(Determinism determinism);

/// What a command and its environment are told of where they run.
struct CommandPlace {
  OwnValues own = {};
  std::filesystem::path python_modules = {};  ///< where Python looks for modules, too; empty: nowhere else
};

/// What the program of a trial is told that a single run's is not.
struct TrialTerms {
  std::int64_t trial = 0;            ///< its number, as in `slipway trials ls`
  int repeat = 0;                    ///< which run of its configuration, from 0
  std::optional<double> limit = {};  ///< how far it may go now, in the scheduler's resource; nothing: to its end
};

/// Everything Slipway sets for a rank, before the user's `launch.env`, which comes last and wins.
Variables TrainingVariables(const Spec& spec, const std::string& spec_hash, const StagedDirectories& data,
                            const AttemptPlace& place, const Json& parameters, const TrialTerms& terms = {},
                            const CommandPlace& at = {});

/// What only the ranks of one node are told: where its shares lie.
Variables VariablesOfNode(const StagedDirectories& data, int node);

}  // namespace slipway::launcher
