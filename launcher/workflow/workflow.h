/// A workflow as typed values: steps that depend on each other, each an experiment, an ensemble, a command, an action
/// on data, or a report.
///
/// The meaning, default and limits of each field are in the table of launcher/workflow/workflow_table.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "core/words.h"
#include "launcher/spec/load.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

struct YamlNode;

/// Any program. No shell reads its words.
struct CommandStep {
  std::vector<std::string> words;
};

/// `slipway data WORDS...`: make, convert, reshard, verify and others.
struct DataStep {
  std::vector<std::string> words;
};

/// A spec of `slipway run` without an ensemble. Its values may hold references.
struct ExperimentStep {
  std::shared_ptr<const YamlNode> spec;
  std::filesystem::path directory;  ///< absolute; relative paths of the spec start here
};

/// A spec with an ensemble.
struct EnsembleStep {
  std::shared_ptr<const YamlNode> spec;
  std::filesystem::path directory;      ///< as above
  std::vector<std::string> parameters;  ///< of its search space
};

/// The report pages of the runs of these steps.
struct ReportStep {
  std::vector<std::string> steps;
};

using Work = std::variant<CommandStep, DataStep, ExperimentStep, EnsembleStep, ReportStep>;

/// In the order of Work.
enum class StepKind { kCommand, kData, kExperiment, kEnsemble, kReport };
WordTable<StepKind> WordsOf(StepKind);

/// What stands for the program of a step in its key.
enum class CodeInKey { kFiles, kGit };
WordTable<CodeInKey> WordsOf(CodeInKey);

/// How steps become Slurm jobs.
enum class JobForm { kAuto, kSingle, kArray, kPacked };
WordTable<JobForm> WordsOf(JobForm);

/// What a step needs while it runs.
struct StepResources {
  std::optional<int> cpus;  ///< unset: 1, or what the spec of an experiment needs
  std::optional<int> gpus;  ///< unset: none, or what the spec needs
  Bytes memory;             ///< 0: not counted
};

/// What a node has for steps.
struct NodeSize {
  int cores = 1;
  Bytes memory;  ///< 0: not known
  int gpus = 0;
};

struct Step {
  std::string name;          ///< "train"; of a step with foreach "train.0", "train.1" and so on
  std::string group;         ///< the name in the file: "train"
  std::optional<int> index;  ///< with foreach
  std::string description;
  Work work;
  std::vector<std::string> after;  ///< groups
  std::string when;                ///< a condition with references; empty: always
  NamedStrings inputs;             ///< absolute paths or references
  NamedStrings outputs;            ///< name -> path in the folder of the step's outputs
  NamedStrings env;                ///< values may hold references
  std::vector<std::string> files;  ///< absolute: the program's own files
  CodeInKey code = CodeInKey::kFiles;
  EngineChoice engine = EngineChoice::kAuto;
  StepResources resources;
  std::shared_ptr<const YamlNode> slurm;  ///< as launch.slurm of a spec; null: left out
  JobForm jobs = JobForm::kAuto;          ///< of the steps of a foreach
  std::optional<int> parallel;            ///< of the steps of a foreach at a time; unset: as many as fit
  std::string pack;                       ///< steps with the same name share one Slurm job; empty: none
  std::optional<Seconds> time_limit;
  int retries = 0;
  std::map<std::string, std::string> origins;  ///< field -> "flow.yaml:12", "default"
  Diagnostic place;                            ///< of its name, without a message

  StepKind kind() const { return static_cast<StepKind>(work.index()); }
  /// Whether it is a run of its own, with a run folder.
  bool is_run() const { return kind() == StepKind::kExperiment || kind() == StepKind::kEnsemble; }
};

/// Positions in Workflow::steps.
using StepIndex = std::size_t;

struct Workflow {
  std::string name;
  std::string description;
  std::vector<std::string> tags;
  std::vector<NotifySpec> notify;   ///< on end and failure only
  std::filesystem::path file;       ///< as given
  std::filesystem::path directory;  ///< absolute; relative paths of the file start here, and commands work here
  std::string source;               ///< the text of the file
  std::vector<std::filesystem::path> included;

  std::vector<Step> steps;                               ///< as in the file, foreach expanded
  std::vector<std::vector<StepIndex>> needs;             ///< steps that must be done before; sorted
  std::vector<std::vector<StepIndex>> dependants;        ///< the inverse of `needs`
  std::vector<StepIndex> order;                          ///< each step after those that it needs
  std::map<std::string, StepIndex> by_name;              ///< "train.0"
  std::map<std::string, std::vector<StepIndex>> groups;  ///< "train" -> its steps
  std::vector<Diagnostic> warnings;
};

}  // namespace slipway::launcher
