#include "launcher/cli/commands/workflow_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/run/batch/batch_submission.h"
#include "launcher/run/batch/batch_wait.h"
#include "launcher/run/batch/submit_job.h"
#include "launcher/run/batch/submit_remarks.h"
#include "launcher/run/workflow/job_facts.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_job.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_submission.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/workflow/step_dependency.h"

namespace slipway::launcher {
namespace {

/// A submission that has begun counts: Slurm may have its job, although the number could not be written down.
bool HasJobs(const RunFolder& folder) {
  return std::ranges::any_of(ReadStoredWorkflow(folder).steps, [&](const StoredStep& step) {
    return JobOfStep(folder, step.name).id != 0 || HasBegunSubmission(folder, step.name);
  });
}

/// Between two waits Ctrl-C ends the process as always: what is submitted stays.
bool WaitUnlessInterrupted(std::chrono::nanoseconds longest) {
  EventLoop loop;
  const Interrupt interrupt(loop);
  loop.RunOnce(longest);
  return !interrupt.asked();
}

/// Jobs that were submitted before the error stay in the queue.
SubmittedSteps Submit(const RunFolder& folder, const FileLock& lock, const Workflow& workflow,
                      const WorkflowOrder& order, std::optional<Seconds> longest, Session& session) try {
  const auto say = [&](const std::string& line) { session.output.Say(line); };
  return SubmitSteps(folder, lock, workflow, order, {longest, WaitUnlessInterrupted, say});
} catch (SubmissionInDoubt& error) {
  error.AddContext(fmt::format("slipway resume {} looks for the job, and submits the rest", folder.selector()));
  throw;
} catch (Error& error) {
  if (HasJobs(folder)) {
    error.AddContext(fmt::format("not all steps of run {} are submitted: slipway resume {} submits the rest",
                                 folder.id(), folder.selector()));
  }
  throw;
}

void Say(const RunFolder& folder, const SubmittedSteps& steps, Session& session) {
  const Json document{
      {"schema", "slipway.submit/1"}, {"run", folder.id()}, {"folder", folder.path().string()}, {"jobs", steps.jobs},
      {"submitted", steps.submitted}, {"kept", steps.kept}, {"settled", steps.settled}};
  auto text = fmt::format("submitted {}: {} jobs", folder.id(), steps.jobs);
  if (steps.submitted != steps.jobs) text += fmt::format(" for {} steps", steps.submitted);
  if (steps.kept > 0) text += fmt::format(", {} were there before", steps.kept);
  if (steps.settled > 0) text += fmt::format("; {} steps need none", steps.settled);
  session.output.Print(
      {document, text + fmt::format("\n  slipway status {0}\n  slipway wait {0}", folder.selector()), folder.id()});
}

/// Says what has changed since the last look.
class StepsPrinter {
 public:
  StepsPrinter(const RunFolder& folder, Output& output) : folder_(folder), output_(output) {}

  void Look() {
    for (const auto& [step, record] : ReadStepJournal(folder_.path())) {
      auto& known = known_[step];
      if (known == record.state || record.state == StepState::kWaiting) continue;
      known = record.state;
      auto line = fmt::format("{}  {}", step, WordOf(record.state));
      if (record.state == StepState::kRunning) {
        line +=
            fmt::format(" in job {} on {}", NumberOf(JobIdentity{.id = record.job, .task = record.task}), record.host);
      }
      if (record.seconds > 0) line += fmt::format(" in {}", FormatDuration(Seconds(record.seconds)));
      if (IsFinal(record.state) && !record.reason.empty()) line += ": " + std::string(FirstLine(record.reason));
      output_.Say(line);
    }
  }

 private:
  const RunFolder& folder_;
  Output& output_;
  std::map<std::string, StepState> known_;
};

int SayTheyGoOn(const RunFolder& folder, Session& session) {
  const auto look = LookAtWorkflow(folder);
  const auto text = fmt::format("{0} goes on without this terminal\n  slipway wait {1}\n  slipway cancel {1}",
                                folder.id(), folder.selector());
  const auto is_read = session.output.mode() == OutputMode::kJson;
  session.output.Print({is_read ? WorkflowDocument(folder, look) : Json::object(), text, folder.id()});
  return static_cast<int>(ErrorKind::kInterrupted);
}

std::string TimeText(const BatchJob& job) {
  return job.time_limit_minutes ? FormatDuration(std::chrono::minutes(*job.time_limit_minutes)) : std::string();
}

/// What a planned job depends on: "afterok:job-of-a:job-of-b_1,afterany:job-of-c" -> a, b_1, c.
std::vector<std::string> NeedsIn(std::string_view dependency) {
  constexpr std::string_view kBefore = ":job-of-";
  std::vector<std::string> needs;
  for (auto at = dependency.find(kBefore); at != dependency.npos; at = dependency.find(kBefore)) {
    dependency.remove_prefix(at + kBefore.size());
    needs.emplace_back(dependency.substr(0, dependency.find_first_of(":,")));
  }
  return needs;
}

std::string StartText(const PlannedJob& planned, WallTime now) {
  const bool waits = planned.start.outlook == StartOutlook::kDependent;
  return waits ? "after " + NamesText(NeedsIn(planned.job.dependency)) : WhenInWords(planned.start, now);
}

/// What the table has no room for, each reason once.
std::string RemarksOnStarts(const std::vector<PlannedJob>& jobs) {
  std::map<std::string, std::vector<std::string>> refused;  // reason and next step -> steps
  std::set<std::string> unknown;
  for (const auto& [steps, names, job, start] : jobs) {
    if (start.outlook == StartOutlook::kRefused) {
      refused[start.reason + "\n  next: " + start.next_step].push_back(steps.name);
    }
    if (start.outlook == StartOutlook::kUnknown) unknown.insert(start.reason);
  }
  std::string text;
  for (const auto& [reason, steps] : refused) {
    text += fmt::format("\nSlurm would refuse the job{} of {}: {}\n", steps.size() == 1 ? "" : "s", NamesText(steps),
                        reason);
  }
  for (const auto& reason : unknown) text += fmt::format("\nno estimate of the start: {}\n", reason);
  return text;
}

/// Of a run whose first job is refused nothing has happened: its folder goes.
void SubmitFirst(const RunFolder& folder, const FileLock& lock, const Workflow& workflow, const WorkflowOrder& order,
                 std::optional<Seconds> longest, Session& session) try {
  Submit(folder, lock, workflow, order, longest, session);
} catch (const SubmissionInDoubt&) {
  throw;
} catch (Error& error) {
  if (!HasJobs(folder)) {
    RemoveTree(folder.path());
    error.AddContext(fmt::format("run {} was not submitted, and its folder is removed", folder.id()));
  }
  throw;
}

/// "array of 6", "array of 6, 2 at a time", "6 packed".
std::string StepsText(const PlannedJob& planned) {
  const auto count = planned.names.size();
  if (planned.steps.form == JobForm::kArray) {
    const auto& at_once = planned.steps.at_once;
    return fmt::format("array of {}{}", count, at_once ? fmt::format(", {} at a time", *at_once) : "");
  }
  return planned.steps.form == JobForm::kPacked ? fmt::format("{} packed", count) : std::to_string(count);
}

/// A line for each foreach and pack: the reason for its form.
std::string WhyText(const std::vector<PlannedJob>& jobs) {
  std::string text;
  std::string last;
  for (const auto& [steps, names, job, start] : jobs) {
    if (steps.why.empty()) continue;
    const auto name = steps.form == JobForm::kSingle ? names.front().substr(0, names.front().find('.')) : steps.name;
    auto line = fmt::format("{}: {}, because: {}\n", name, WordOf(steps.form), steps.why);
    if (line != last) text += line;
    last = std::move(line);
  }
  return text.empty() ? text : "\n" + text;
}

Json DocumentOf(const PlannedJob& planned) {
  const auto& job = planned.job;
  return {{"name", planned.steps.name},
          {"form", WordOf(planned.steps.form)},
          {"why", planned.steps.why},
          {"steps", planned.names.size()},
          {"at_once", planned.steps.at_once ? Json(*planned.steps.at_once) : Json()},
          {"nodes", job.nodes},
          {"tasks", job.tasks()},
          {"cpus", job.tasks() * job.cpus_per_rank},
          {"gpus", job.tasks() * job.gpus_per_rank},
          {"memory_per_node", job.memory_per_node ? Json(job.memory_per_node->count) : Json()},
          {"time_limit_minutes", job.time_limit_minutes ? Json(*job.time_limit_minutes) : Json()},
          {"partition", job.partition},
          {"account", job.account},
          {"dependency", job.dependency},
          {"start_estimate", ToJson(planned.start)},
          {"script", RenderBatchScript(job)}};
}

}  // namespace

std::string NamesText(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 4;
  const auto shown = std::min(names.size(), kMostShown);
  const auto text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

RunFolder SubmitNewSteps(const Workflow& workflow, const WorkflowOrder& order, std::optional<Seconds> longest,
                         Session& session) {
  RequireBatchSystem();
  const auto doubt = RequireStepJobs(workflow, std::filesystem::absolute(session.runs_directory));
  if (!doubt.empty()) session.output.Warn(doubt);
  const auto folder = session.runs().Name(PrepareWorkflowRun(session.runs_directory, workflow, order));
  if (const auto why = WhyNodesCannotSee(folder.path()); !why.empty()) session.output.Warn(why);
  const auto lock = folder.TakeManagerLock();
  SubmitFirst(folder, lock, workflow, order, longest, session);
  return folder;
}

int SaySubmittedSteps(const RunFolder& folder, Session& session) {
  SubmittedSteps steps;
  std::set<JobId> jobs;
  for (const auto& step : ReadStoredWorkflow(folder).steps) {
    const auto job = JobOfStep(folder, step.name).id;
    if (job != 0) jobs.insert(job);
    ++(job != 0 ? steps.submitted : steps.settled);
  }
  steps.jobs = static_cast<int>(jobs.size());
  Say(folder, steps, session);
  return 0;
}

int FollowSteps(const RunFolder& folder, Session& session) {
  session.output.Say("run " + folder.id());
  EventLoop loop;
  bool interrupted = false;
  loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [&](int) { interrupted = true; });
  StepsPrinter printer(folder, session.output);
  const auto pause = [&](std::chrono::nanoseconds longest) {
    printer.Look();
    loop.RunOnce(longest);
    return !interrupted;
  };
  const bool has_ended = WaitForBatchEnd(folder, {}, pause, ObserveWorkflow).has_value();
  printer.Look();
  return has_ended ? ShowWorkflow(folder, session) : SayTheyGoOn(folder, session);
}

bool AreJobsAgain(const RunFolder& folder, const Workflow& workflow) {
  const bool were_jobs = HasStepJobs(folder);
  const bool are_jobs = StepsAreJobs(workflow);
  if (were_jobs == are_jobs || !(were_jobs || Exists(JournalOfRun(folder.path())))) {
    return are_jobs;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("the steps of run {} {}, and would now {}", folder.id(),
                          were_jobs ? "were Slurm jobs" : "ran on one machine",
                          are_jobs ? "be Slurm jobs" : "run on this machine"),
              fmt::format("start the workflow again with: slipway submit {}; it reuses all results",
                          ReadStoredWorkflow(folder).order.file.string()));
}

int ResumeSteps(const RunFolder& folder, const FileLock& lock, const Workflow& workflow, const WorkflowOrder& order,
                const std::vector<std::string>& refused, Seconds longest, Session& session) {
  if (!refused.empty()) {
    throw Error(
        ErrorKind::kBusy,
        fmt::format("run {} has jobs in the queue, which were submitted without {}", folder.id(),
                    fmt::join(refused, ", ")),
        fmt::format("wait for their end (slipway wait {0}), or end them (slipway cancel {0})", folder.selector()));
  }
  Say(folder, Submit(folder, lock, workflow, order, longest, session), session);
  return 0;
}

std::vector<PlannedJob> PlanJobs(const Workflow& workflow, const ResultStore& store, const StepReuse& reuse,
                                 const Session& session) {
  const auto folder = std::filesystem::absolute(session.runs_directory) / (workflow.name + "-<time>-<id>");
  auto facts = FactsOf(workflow, store, SlurmClient());
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) facts.open[step] = !reuse.of(step).reuse;
  const auto shaped = ShapeJobs(workflow, facts);
  std::map<StepIndex, JobAddress> addresses;
  std::vector<PlannedJob> jobs;
  for (const auto& steps : shaped) {
    const auto dependency = DependencyOf(workflow, steps, [&](StepIndex need) {
      const auto found = addresses.find(need);
      return found == addresses.end() ? std::nullopt : std::optional(found->second);
    });
    PlannedJob planned{steps, {}, MakeStepJob(workflow, steps, folder, 1, dependency)};
    for (const auto step : steps.steps) {
      planned.names.push_back(workflow.steps[step].name);
      addresses[step] = {"job-of-" + steps.name, TaskOf(workflow, steps, step), steps.steps};
    }
    jobs.push_back(std::move(planned));
  }
  std::vector<BatchJob> asked;
  for (const auto& job : jobs) asked.push_back(job.job);
  auto starts = EstimateStarts(asked);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].start = std::move(starts[i]);
  return jobs;
}

void AddJobs(const std::vector<PlannedJob>& jobs, Json& document) {
  std::map<std::string, Json> by_step;
  for (const auto& job : jobs) {
    const auto described = DocumentOf(job);
    for (const auto& name : job.names) by_step.emplace(name, described);
  }
  document["engine"] = jobs.empty() ? "local" : "slurm";
  for (auto& step : document["steps"]) {
    const auto found = by_step.find(step["name"].get<std::string>());
    step["job"] = found == by_step.end() ? Json() : std::move(found->second);
  }
}

std::string DescribeJobs(const std::vector<PlannedJob>& jobs) {
  if (jobs.empty()) return {};
  const auto now = SystemClock().Now();
  TextTable table({"job of", "steps", "nodes", "cpus", "gpus", "memory", "time", "partition", "start"});
  for (const auto& planned : jobs) {
    const auto& job = planned.job;
    const auto& start = planned.start;
    table.AddRow({planned.steps.name, StepsText(planned), std::to_string(job.nodes),
                  std::to_string(job.tasks() * job.cpus_per_rank), std::to_string(job.tasks() * job.gpus_per_rank),
                  job.memory_per_node ? FormatBytes(*job.memory_per_node) : "", TimeText(job),
                  start.partition.empty() ? job.partition : start.partition, StartText(planned, now)});
  }
  return "\n" + table.Render() + WhyText(jobs) + RemarksOnStarts(jobs) +
         "\nscripts of the jobs: slipway plan FILE --json, in steps[].job.script\n";
}

int ExitCodeOf(const std::vector<PlannedJob>& jobs) {
  const auto refused = std::ranges::find_if(jobs, [](const PlannedJob& job) { return job.start.exit_code != 0; });
  return refused == jobs.end() ? 0 : refused->start.exit_code;
}

int CarryOutStep(const StepJobOptions& options, Session& session) {
  auto steps = options.steps;
  if (options.array_task) steps = {StepOfArrayTask(steps.front(), options.first_index)};
  return CarryOutStepJob(RunFolder::Open(options.run), steps, session.output);
}

}  // namespace slipway::launcher
