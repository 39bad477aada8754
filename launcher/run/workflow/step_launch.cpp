#include "launcher/run/workflow/step_launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/plan/environment_table.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/python_path.h"
#include "launcher/plan/training_command.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/ranks/local/ranks.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/spec/load.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSlipway = "/proc/self/exe";

fs::path KeyFile(const StepPlace& place) { return place.folder / "key"; }

class Preparer {
 public:
  explicit Preparer(const LaunchOrder& order)
      : order_(order), step_(order.workflow.steps[order.step]), place_(PlaceOfStep(order.run, step_)) {}

  PreparedStep Prepare() {
    LookForRun();
    if (order_.only_waits && !adopted_) return {};
    MakeFolders();
    PreparedStep prepared;
    prepared.adopted = adopted_;
    auto& launch = prepared.launch;
    launch.step = order_.step;
    launch.name = step_.name;
    launch.attempt = order_.attempt;
    launch.directory = order_.workflow.directory;
    launch.log = place_.log();
    launch.time_limit = step_.time_limit;
    launch.resources = order_.needs;
    launch.is_run = step_.is_run();
    launch.environment = EnvironmentOfStep();
    std::visit([&](const auto& work) { PutCommand(work, prepared); }, step_.work);
    return prepared;
  }

 private:
  /// Before anything of the step is changed: a run may work in its folders.
  void LookForRun() {
    if (step_.is_run()) begun_ = BegunRun(place_, order_.key);
    if (!begun_) return;
    adopted_ = StillRuns(RunFolder::Open(*begun_)) && order_.job.id == 0;
  }

  /// A run that goes on from its checkpoint does not write again what it has written before.
  void MakeFolders() {
    if (!begun_) RemoveTree(place_.prepared);
    MakeDirectories(place_.outputs());
    for (const auto& [name, path] : OutputPaths(step_, place_.outputs())) MakeDirectories(fs::path(path).parent_path());
    for (const auto& [name, value] : step_.inputs) inputs_.emplace_back(name, ResolveText(value, ScopeOf()));
  }

  Scope ScopeOf() const { return {order_.workflow, order_.result_of, inputs_, OutputPaths(step_, place_.outputs())}; }

  Environment EnvironmentOfStep() const {
    auto environment = Environment::Inherited();
    const auto scope = ScopeOf();
    if (!step_.is_run()) {  // a run leaves its GPUs to the program around it, and its ranks leave that program
      LeaveOuterProgram(environment);
      LeaveMpiJob(environment);
      environment.Unset(runtime::kMonitorVariable)
          .Set("SLIPWAY_STEP", step_.name)
          .Set("SLIPWAY_STEP_DIR", place_.folder.string())
          .Set("SLIPWAY_RUN_DIR", order_.run.path().string())
          .Set("SLIPWAY_SPEC_DIR", order_.workflow.directory.string())
          .Set("SLIPWAY_OUTPUT_DIR", place_.outputs().string())
          .Set("SLIPWAY_METRICS", place_.metrics().string())
          .Set("SLIPWAY_ATTEMPT", std::to_string(order_.attempt))
          .Set(kPythonPath, PythonPath(InheritedPythonPath()));
      for (const auto& [name, path] : scope.inputs) environment.Set("SLIPWAY_INPUT_" + NameInVariable(name), path);
      for (const auto& [name, path] : scope.outputs) environment.Set("SLIPWAY_OUTPUT_" + NameInVariable(name), path);
    }
    for (const auto& [name, value] : step_.env) {
      const auto text = ResolveText(value, scope);
      environment.Set(name, name == kPythonPath && !step_.is_run() ? PythonPath(text) : text);
    }
    return environment;
  }

  void PutCommand(const CommandStep& work, PreparedStep& prepared) const {
    prepared.launch.argv = ResolveWords(work.words, ScopeOf());
  }

  void PutCommand(const DataStep& work, PreparedStep& prepared) const {
    auto& argv = prepared.launch.argv;
    argv = {kSlipway, "data"};
    for (auto& word : ResolveWords(work.words, ScopeOf())) argv.push_back(std::move(word));
  }

  void PutCommand(const ReportStep& work, PreparedStep& prepared) const {
    auto& argv = prepared.launch.argv;
    argv = {kSlipway, "report"};
    for (const auto& group : work.steps) {
      for (const auto step : order_.workflow.groups.at(group)) {
        argv.push_back(order_.result_of(step)["run"].get<std::string>());
      }
    }
    argv.insert(argv.end(), {"-o", (place_.outputs() / "report.html").string()});
  }

  void PutCommand(const ExperimentStep& work, PreparedStep& prepared) const {
    PutRun(*work.spec, work.directory, prepared);
  }
  void PutCommand(const EnsembleStep& work, PreparedStep& prepared) const {
    PutRun(*work.spec, work.directory, prepared);
  }

  void PutRun(const YamlNode& spec, const fs::path& directory, PreparedStep& prepared) const {
    auto& launch = prepared.launch;
    launch.grace = kGraceOfRun;
    prepared.run_folder = begun_ ? *begun_ : MakeRun(spec, directory);
    if (adopted_) PutPlaceOf(RunFolder::Open(*begun_).ReadState(), launch);
    const auto* command = adopted_ ? "wait" : begun_ && order_.job.id == 0 ? "resume" : "manage";
    if (order_.job.id != 0) GiveJobTo(prepared.run_folder);
    launch.argv = {kSlipway, command, prepared.run_folder.string()};
  }

  /// The job of the step becomes the job of its run, as if the run had been submitted: its manager saves before the
  /// time limit, and queues the job again after the loss of a node.
  void GiveJobTo(const fs::path& run_folder) const {
    const auto folder = RunFolder::Open(run_folder);
    auto state = folder.ReadState();
    if (state.phase == Phase::kSucceeded) return;
    WriteBatchRecord(folder.path(), {order_.job, false, {}, {}});
    state.phase = Phase::kQueued;
    state.host = HostName();
    state.manager = IdentityOf(::getpid());
    state.batch_job = order_.job.id;
    state.batch_task = order_.job.task;
    state.batch_cluster = order_.job.cluster;
    ForgetEnd(state);
    folder.WriteState(state);
  }

  /// What the run takes of this machine.
  static void PutPlaceOf(const RunState& state, StepLaunch& launch) {
    if (state.host != HostName()) launch.resources = {.cpus = 0, .gpus = {}, .memory = {}};
    const bool has_gpus = launch.resources.gpus.value_or(0) > 0;
    launch.devices = std::vector<std::string>();
    if (!has_gpus) return;
    const auto environment = Environment::OfProcess(static_cast<pid_t>(state.manager.pid));
    launch.devices = DevicesNamedIn(environment, DeviceNumbersOfSystem()).names();
  }

  fs::path MakeRun(const YamlNode& spec, const fs::path& directory) const {
    const auto file = place_.folder / "spec.yaml";
    WriteFileAtomically(file, ResolveSpec(spec, ScopeOf()));
    const auto folder = PrepareRun(MakePlan(LoadWrittenSpec(file, directory), place_.folder));
    WriteFileAtomically(KeyFile(place_), order_.key);  // last: until then the run is not known
    return folder.path();
  }

  const LaunchOrder& order_;
  const Step& step_;
  StepPlace place_;
  NamedStrings inputs_;
  std::optional<fs::path> begun_;  ///< the run of an experiment or ensemble, where there is one
  bool adopted_ = false;           ///< as PreparedStep
};

}  // namespace

StepPlace PlaceOfStep(const RunFolder& run, const Step& step) {
  const auto folder = run.path() / "steps" / step.name;
  return {folder, folder / "prepared"};
}

std::optional<fs::path> BegunRun(const StepPlace& place, const std::string& key) {
  if (ReadFileIfPresent(KeyFile(place)) != key) return {};
  const auto runs = ListRuns(place.folder);
  return runs.empty() ? std::nullopt : std::optional(runs.back().path());
}

NamedStrings OutputPaths(const Step& step, const fs::path& folder) {
  NamedStrings paths;
  for (const auto& [name, path] : step.outputs) paths.emplace_back(name, (folder / path).lexically_normal().string());
  return paths;
}

PreparedStep PrepareStep(const LaunchOrder& order) { return Preparer(order).Prepare(); }

}  // namespace slipway::launcher
