#include "launcher/run/workflow/step_batch.h"

#include <fmt/format.h>

#include "core/environment.h"
#include "core/error.h"
#include "core/install.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/load.h"
#include "launcher/spec/spec.h"
#include "launcher/workflow/job_spec.h"
#include "launcher/workflow/step_key.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Slurm gives what was asked for, and the data of the step is made by earlier ones.
void RequireKnownBuffer(const Step& step, const SlurmSpec& slurm) {
  const auto& buffer = slurm.burst_buffer;
  const bool has_size = buffer.capacity || !buffer.persistent.empty();
  if (buffer.type == BurstBufferKind::kNone || has_size || !WantsBurstBuffer(step)) return;
  throw Error(ErrorKind::kUsage, "the size of its burst buffer is unknown: its data is not there yet",
              fmt::format("set it: --set steps.{}.slurm.burst_buffer.capacity=SIZE", step.group));
}

/// Its trials are jobs of their own: it only manages them.
void MakeSmall(BatchJob& job) {
  job.nodes = job.ranks_per_node = job.cpus_per_rank = 1;
  job.gpus_per_rank = 0;
  job.memory_per_node.reset();
  job.time_limit_minutes.reset();
  job.burst_buffer = {};
}

BatchJob JobOf(const Workflow& workflow, const Step& step, const fs::path& folder) {
  const auto text = JobSpecText(step);
  const auto plan = MakePlan(LoadSpecText(text, workflow.file, ProgramFolderOf(workflow, step)), folder.parent_path());
  RequireKnownBuffer(step, plan.spec().launch.slurm);
  auto job = MakeBatchJob(plan, folder);
  if (TrialsAreJobs(plan.spec())) MakeSmall(job);
  if (step.is_run()) return job;
  job.signal_lead_s = 0;  // its program would not know what the signal means
  job.burst_buffer = {};  // and has no datasets
  return job;
}

/// " (auto: no allocation and no slurm.conf here)", or nothing where the step names its engine.
std::string WhyEngine(const std::string& reason) { return reason.empty() ? "" : fmt::format(" (auto: {})", reason); }

/// Of the steps of a workflow, the first that is a job and the first that runs here; null where there is none.
struct FirstSteps {
  const Step* job = nullptr;
  const Step* here = nullptr;
  std::string why_job = {};  ///< empty: the step names its engine
  std::string why_here = {};

  void Note(const Step& step, const ChosenEngine& chosen) {
    const bool is_job = chosen.engine == EngineChoice::kSlurm;
    auto& first = is_job ? job : here;
    if (first != nullptr) return;
    first = &step;
    (is_job ? why_job : why_here) = chosen.reason;
  }

  void RequireOnePlace() const {
    if (job == nullptr || here == nullptr) return;
    const auto one = "set one engine for all: --engine slurm";
    throw StepsInTwoPlaces(
        ErrorKind::kUsage,
        fmt::format("step '{}' has engine local{}, and step '{}' is a Slurm job{}: all steps of a workflow run in one "
                    "place",
                    here->name, WhyEngine(why_here), job->name, WhyEngine(why_job)),
        why_here.empty() ? fmt::format("remove 'engine' from step '{}', or {}", here->group, one) : one);
  }
};

/// The tasks of an array, as Slurm writes them: "0-3,7", and "0-3,7%2" where two run at a time.
std::string TasksOf(const Workflow& workflow, const StepJob& job) {
  const auto& steps = job.steps;
  std::string text;
  for (std::size_t at = 0; at < steps.size();) {
    const int first = *TaskOf(workflow, job, steps[at]);
    int last = first;
    while (++at < steps.size() && TaskOf(workflow, job, steps[at]) == last + 1) ++last;
    text += (text.empty() ? "" : ",") + (first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return job.at_once ? fmt::format("{}%{}", text, *job.at_once) : text;
}

void MakePacked(const PackSize& size, BatchJob& job) {
  job.nodes = job.ranks_per_node = 1;
  job.cpus_per_rank = size.cpus;
  job.gpus_per_rank = size.gpus;
  if (size.memory.count > 0) job.memory_per_node = size.memory;
  job.time_limit_minutes = size.time_limit ? std::optional(WholeMinutes(*size.time_limit)) : std::nullopt;
}

/// What the job runs; an array has the number of the step from Slurm.
std::vector<std::string> CommandOf(const Workflow& workflow, const StepJob& job, const fs::path& run_folder) {
  std::vector<std::string> words{(InstallPrefix() / "bin" / "slipway").string(), "workflow", "step",
                                 run_folder.string()};
  if (job.form == JobForm::kArray) {
    words.insert(words.end(), {workflow.steps[job.steps.front()].group, "--array-task"});
    if (job.first_index > 0) words.insert(words.end(), {"--first-index", std::to_string(job.first_index)});
    return words;
  }
  for (const auto step : job.steps) words.push_back(workflow.steps[step].name);
  return words;
}

}  // namespace

std::string CommentOfStep(const fs::path& run_folder, const std::string& step) {
  return fmt::format("slipway:{}/{}", run_folder.filename().string(), step);
}

std::string CommentOfJob(const Workflow& workflow, const StepJob& job, const fs::path& run_folder, int submission) {
  const auto& first = workflow.steps[job.steps.front()].name;
  if (job.form == JobForm::kSingle) return CommentOfStep(run_folder, first);
  return fmt::format("slipway:{}/jobs/{}-{}", run_folder.filename().string(), first, submission);
}

fs::path FolderOfJob(const fs::path& run_folder, const std::string& comment) {
  const auto place = comment.substr(comment.find('/') + 1);
  return place.starts_with("jobs/") ? run_folder / place : run_folder / "steps" / place;
}

BatchJob MakeStepJob(const Workflow& workflow, const StepJob& steps, const fs::path& run_folder, int submission,
                     const std::string& dependency) {
  const auto& step = workflow.steps[steps.steps.front()];
  const auto comment = CommentOfJob(workflow, steps, run_folder, submission);
  const auto folder = FolderOfJob(run_folder, comment);
  auto job = WithContext(fmt::format("in step '{}'", step.name), [&] { return JobOf(workflow, step, folder); });
  if (steps.form == JobForm::kPacked) MakePacked(steps.size, job);
  if (steps.form == JobForm::kArray) {
    job.array = TasksOf(workflow, steps);
    job.array_size = std::ssize(steps.steps);
  }
  job.name = fmt::format("{}.{}", workflow.name, steps.name);
  job.comment = comment;
  job.dependency = dependency;
  job.cancel_on_impossible_dependency = !dependency.empty();
  job.directory = folder;
  job.output = folder / "job.log";
  job.command = CommandOf(workflow, steps, run_folder);
  return job;
}

bool StepsAreJobs(const Workflow& workflow) {
  RequireOneEngine(workflow);
  const auto facts = LookForEngines(Environment::Inherited());
  FirstSteps first;
  for (const auto& step : workflow.steps) first.Note(step, ChooseEngine(step.engine, facts));
  if (first.job == nullptr || !facts.allocation.empty()) return false;
  first.RequireOnePlace();
  return true;
}

void RequireOneEngine(const Workflow& workflow) {
  FirstSteps first;
  for (const auto& step : workflow.steps) {
    if (step.engine != EngineChoice::kAuto) first.Note(step, {step.engine, {}});
  }
  first.RequireOnePlace();
}

}  // namespace slipway::launcher
