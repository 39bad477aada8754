#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/files.h"
#include "core/install.h"
#include "core/nearest_word.h"
#include "core/process.h"
#include "core/text.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/load.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// The options of a bundled trainer, as its build has written them down. Empty where it has not.
std::vector<std::string> OptionsOf(const std::string& trainer) {
  std::vector<std::string> options;
  std::ifstream file(HelperProgram("trainer-options") / trainer);
  for (std::string name; std::getline(file, name);) options.push_back(name);
  return options;
}

class EnvironmentCheck {
 public:
  explicit EnvironmentCheck(const SpecDocument& document) : document_(document), spec_(document.spec) {}

  std::vector<Diagnostic> Run() {
    for (const DatasetSpec& dataset : spec_.data) CheckDataset(dataset);
    CheckTiers("checkpoint", spec_.checkpoint.tiers);
    CheckFiles();
    CheckEngine();
    CheckMpi();
    CheckGpus();
    if (!spec_.train.program.empty()) CheckTrainer();
    if (!spec_.train.command.empty()) CheckCommand();
    return std::move(found_);
  }

  /// What the spec gives a bundled trainer that it has no option for: every rank of every trial would end with that.
  std::vector<Diagnostic> UnknownOptions() {
    if (spec_.train.program.empty()) return {};
    const auto known = OptionsOf(spec_.train.program);
    if (known.empty()) return {};
    for (const auto& [name, value] : spec_.train.args) CheckOption("train.args", name, known);
    if (spec_.ensemble) {
      for (const auto& parameter : spec_.ensemble->space) CheckOption("ensemble.space", parameter.name, known);
    }
    return std::move(found_);
  }

 private:
  void Add(const std::string& path, std::string message, std::string suggestion = {}) {
    Diagnostic diagnostic = PlaceOfField(document_, path);
    diagnostic.field = path;
    diagnostic.message = std::move(message);
    diagnostic.suggestion = std::move(suggestion);
    found_.push_back(std::move(diagnostic));
  }

  void CheckDataset(const DatasetSpec& dataset) {
    const std::string path = "data." + dataset.name;
    for (std::size_t i = 0; i < dataset.sources.size(); ++i) {
      CheckSource(fmt::format("{}.source[{}]", path, i), dataset.sources[i]);
    }
    CheckTiers(path, dataset.tiers);
  }

  void CheckTiers(const std::string& path, const std::vector<std::string>& tiers) {
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      if (tiers[i].starts_with("dir:")) CheckWritable(fmt::format("{}.tier[{}]", path, i), tiers[i].substr(4));
    }
  }

  /// None is an error of the field at `path`.
  std::vector<fs::path> FilesFor(const std::string& path, const std::string& pattern) try {
    auto files = MatchingPaths(pattern);
    if (files.empty()) Add(path, fmt::format("no file matches '{}'", pattern));
    return files;
  } catch (const SystemError& error) {
    Add(path, error.message());
    return {};
  }

  void CheckSource(const std::string& path, const std::string& pattern) {
    for (const fs::path& file : FilesFor(path, pattern)) {
      const int wanted = IsDirectory(file) ? R_OK | X_OK : R_OK;
      if (::access(file.c_str(), wanted) != 0)
        Add(path, fmt::format("'{}' cannot be read by this user", file.string()));
    }
  }

  void CheckFiles() {
    for (std::size_t i = 0; i < spec_.launch.files.size(); ++i) {
      FilesFor(fmt::format("launch.files[{}]", i), spec_.launch.files[i]);
    }
  }

  void CheckWritable(const std::string& path, fs::path directory) {
    const std::string wanted = directory.string();
    while (!Exists(directory) && directory.has_relative_path()) directory = directory.parent_path();
    if (!IsDirectory(directory)) {
      Add(path, fmt::format("'{}' is not a directory", directory.string()));
    } else if (::access(directory.c_str(), W_OK | X_OK) != 0) {
      Add(path, fmt::format("the tier '{}' cannot be written: no permission in '{}'", wanted, directory.string()));
    }
  }

  void CheckEngine() {
    if (spec_.launch.engine == EngineChoice::kSlurm || spec_.launch.nodes == 1) return;
    const auto& reason = document_.engine_reason;
    Add("launch.nodes", fmt::format("the local engine{} has one node; ask for more with ranks_per_node",
                                    reason.empty() ? "" : " (engine: auto, " + reason + ")"));
  }

  /// Under Slurm the ranks start elsewhere, often with modules that are not loaded here.
  void CheckMpi() {
    if (spec_.launch.ranks() == 1 || spec_.launch.engine == EngineChoice::kSlurm) return;
    try {
      FindMpiLauncher(spec_.launch.mpi);
    } catch (const Error& error) {
      Add(spec_.launch.mpi ? "launch.mpi" : "launch.ranks_per_node",
          fmt::format("{}; {}", error.message(), error.next_step()));
    }
  }

  /// Of a node under Slurm, Slurm knows.
  void CheckGpus() {
    const auto& launch = spec_.launch;
    const int wanted = launch.gpus_per_rank * launch.ranks_per_node;
    if (wanted == 0 || launch.engine == EngineChoice::kSlurm) return;
    const auto devices = DevicesOfThisNode();
    if (devices.count() >= wanted) return;
    Add("launch.gpus_per_rank",
        fmt::format("the ranks {} need {}, and this machine has {}; launch.gpus_per_rank=0 runs without",
                    spec_.ensemble ? "of a trial" : "here", Counted(wanted, "GPU"), Describe(devices)));
  }

  void CheckTrainer() {
    const fs::path trainers = HelperProgram("trainers");
    const fs::path program = trainers / spec_.train.program;
    if (::access(program.c_str(), X_OK) == 0) return;
    std::vector<std::string> known;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(trainers, code)) known.push_back(entry.path().filename().string());
    std::sort(known.begin(), known.end());
    const auto rest = BuildTheRest();
    Add("train.program",
        fmt::format("this installation has no trainer called '{}'{}", spec_.train.program,
                    rest.empty() ? "" : fmt::format("; if it is a bundled one, build it with: {}", rest)),
        NearestWord(spec_.train.program, known));
  }

  void CheckOption(const std::string& path, const std::string& name, const std::vector<std::string>& known) {
    if (std::ranges::find(known, name) != known.end()) return;
    auto nearest = NearestWord(name, known);
    const auto others = nearest.empty() ? fmt::format("; it has {}", fmt::join(known, ", ")) : std::string();
    Add(path + "." + name, fmt::format("the trainer '{}' has no option '{}'{}", spec_.train.program, name, others),
        std::move(nearest));
  }

  void CheckCommand() {
    if (spec_.launch.container) return;  // the program may be in the image alone
    const std::string& program = spec_.train.command.front();
    if (program.find('/') == std::string::npos) {
      if (!FindProgram(program)) {
        Add("train.command[0]", fmt::format("the program '{}' is not on PATH", program));
      } else {
        CheckInterpreter(program);
      }
      return;
    }
    const fs::path path = (document_.directory / program).lexically_normal();
    if (!Exists(path)) {
      Add("train.command[0]", fmt::format("there is no program '{}'", path.string()));
    } else if (IsDirectory(path) || ::access(path.c_str(), X_OK) != 0) {
      Add("train.command[0]", fmt::format("'{}' cannot be executed", path.string()));
    } else {
      CheckInterpreter(path.string());
    }
  }

  /// The nodes of a Slurm job may have one that is not here.
  void CheckInterpreter(const std::string& program) {
    if (spec_.launch.engine == EngineChoice::kSlurm) return;
    const auto missing = MissingInterpreter(spec_.train.command, document_.directory);
    if (missing.empty()) return;
    Add("train.command[0]", fmt::format("'{}' cannot be executed: its interpreter '{}' is missing", program, missing));
  }

  const SpecDocument& document_;
  const Spec& spec_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> ValidateEnvironment(const SpecDocument& document) { return EnvironmentCheck(document).Run(); }

void RequireEnvironment(const SpecDocument& document) {
  if (auto unknown = EnvironmentCheck(document).UnknownOptions(); !unknown.empty()) throw SpecError(std::move(unknown));
  std::vector<Diagnostic> found = ValidateEnvironment(document);
  if (!found.empty()) throw SpecError(std::move(found), ErrorKind::kEnvironment);
}

}  // namespace slipway::launcher
