#include "launcher/workflow/step_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "launcher/workflow/graph.h"
#include "launcher/workflow/job_graph.h"
#include "launcher/workflow/job_spec.h"
#include "launcher/workflow/pack.h"

namespace slipway::launcher {
namespace {

using Steps = std::vector<StepIndex>;

class Shaper {
 public:
  Shaper(const Workflow& workflow, const JobFacts& facts)
      : workflow_(workflow), facts_(facts), graph_(workflow, facts.open) {}

  std::vector<StepJob> Shape() {
    for (const auto& [name, steps] : OpenPacks()) {
      Add({JobForm::kPacked, name, steps, SizeOf(steps), fmt::format("pack: {}", name)});
    }
    for (const auto step : workflow_.order) {
      if (IsToShape(step)) ShapeGroup(workflow_.steps[step].group);
    }
    std::vector<StepJob> ordered;
    for (const auto job : OrderOf(graph_.Needs()).order) ordered.push_back(std::move(jobs_[job]));
    return ordered;
  }

 private:
  std::map<std::string, Steps> OpenPacks() const {
    std::map<std::string, Steps> packs;
    for (const auto step : workflow_.order) {
      const auto& pack = workflow_.steps[step].pack;
      if (facts_.open[step] && !pack.empty()) packs[pack].push_back(step);
    }
    return packs;
  }

  bool IsToShape(StepIndex step) const { return facts_.open[step] && !graph_.JobOf(step); }

  void Add(StepJob job) {
    graph_.Tie(job.steps);
    jobs_.push_back(std::move(job));
  }

  void ShapeGroup(const std::string& group) {
    Steps steps;
    std::ranges::copy_if(workflow_.groups.at(group), std::back_inserter(steps),
                         [this](StepIndex step) { return IsToShape(step); });
    const auto choice = FirstOf(steps).jobs;
    if (steps.size() > 1 && FirstOf(steps).parallel) return AddLimitedArray(group, steps);
    if (steps.size() == 1 || choice == JobForm::kSingle) return AddSingles(steps, {});
    if (const auto why = WhyApart(steps); !why.empty()) return AddSingles(steps, why);
    const auto why_not_packed = WhyNotPacked(steps, choice);
    if (why_not_packed.empty()) return AddPacks(group, steps, choice);
    AddArrays(group, steps, why_not_packed);
  }

  /// By the numbers that tasks may have. Parts of two groups begin at the same indices, so that tasks follow each
  /// other.
  std::vector<Steps> PartsForArrays(const Steps& steps) const {
    std::map<int, Steps> parts;
    for (const auto step : steps) parts[FirstIndexFor(step)].push_back(step);
    std::vector<Steps> in_order;
    for (auto& [first, part] : parts) in_order.push_back(std::move(part));
    return in_order;
  }

  int FirstIndexFor(StepIndex step) const {
    const auto most = std::max<std::int64_t>(facts_.max_array_size, 1);
    return static_cast<int>(IndexOf(step) / most * most);
  }

  void AddArrays(const std::string& group, const Steps& steps, const std::string& why) {
    if (const auto why_none = WhyTasksCannotBe(steps); !why_none.empty()) return AddSingles(steps, why_none);
    const auto parts = PartsForArrays(steps);
    for (const auto& part : parts) {
      const auto why_single = part.size() == 1 ? LimitOfArrays() : WhyNoArray(part);
      const auto name = parts.size() == 1 ? group : NameOfPart(group, part);
      if (!why_single.empty()) {
        AddSingles(part, why_single);
      } else {
        Add({JobForm::kArray, name, part, {}, why, {}, FirstIndexFor(part.front())});
      }
    }
  }

  std::string LimitOfArrays() const {
    return fmt::format("the site's arrays end at task {}", facts_.max_array_size - 1);
  }

  /// Slurm limits the tasks of an array, and nothing else. So it also waits for what only some of its tasks need.
  void AddLimitedArray(const std::string& group, const Steps& steps) {
    const auto at_once = *FirstOf(steps).parallel;
    auto why = WhyApart(steps);
    if (why.empty()) why = WhyTasksCannotBe(steps);
    if (why.empty() && PartsForArrays(steps).size() > 1) why = LimitOfArrays();
    if (why.empty()) {
      const auto first = FirstIndexFor(steps.front());
      return Add({JobForm::kArray, group, steps, {}, fmt::format("parallel: {}", at_once), at_once, first});
    }
    throw Error(ErrorKind::kUsage,
                fmt::format("step '{}' has 'parallel: {}', which needs a job array: {}", group, at_once, why),
                fmt::format("leave 'parallel' out of step '{}', or put its foreach into two steps", group));
  }

  void AddSingles(const Steps& steps, const std::string& why) {
    for (const auto step : steps) Add({JobForm::kSingle, workflow_.steps[step].name, {step}, {}, why});
  }

  /// In parts of equal size.
  void AddPacks(const std::string& group, const Steps& steps, JobForm choice) {
    const auto most = MostInOnePack(steps);
    const auto parts = (steps.size() + most - 1) / most;
    const auto why = choice == JobForm::kPacked
                         ? std::string("jobs: packed")
                         : fmt::format("small: its steps take {}", FormatDuration(*LongestOf(steps)));
    for (std::size_t part = 0; part < parts; ++part) {
      const auto border = [&](std::size_t at) { return static_cast<std::ptrdiff_t>(steps.size() * at / parts); };
      const Steps own(steps.begin() + border(part), steps.begin() + border(part + 1));
      Add({JobForm::kPacked, parts == 1 ? group : NameOfPart(group, own), own, SizeOf(own), why});
    }
  }

  std::string NameOfPart(const std::string& group, const Steps& part) const {
    return fmt::format("{}.{}-{}", group, IndexOf(part.front()), IndexOf(part.back()));
  }

  PackSize SizeOf(const Steps& steps) const { return SizeOfPack(workflow_, steps, facts_.took, facts_.node); }

  std::size_t MostInOnePack(const Steps& steps) const {
    const auto longest = LongestOf(steps);
    if (!longest || longest->count() <= 0) return kMostStepsOfPack;
    const auto at_once = std::max(SizeOf(steps).cpus / FirstOf(steps).resources.cpus.value_or(1), 1);
    const auto in_time = std::floor(kLongestPack / *longest) * at_once;
    return static_cast<std::size_t>(std::clamp(in_time, 1.0, static_cast<double>(kMostStepsOfPack)));
  }

  const Step& FirstOf(const Steps& steps) const { return workflow_.steps[steps.front()]; }
  int IndexOf(StepIndex step) const { return workflow_.steps[step].index.value_or(0); }

  /// What the slowest takes; nothing when it is not known of all.
  std::optional<Seconds> LongestOf(const Steps& steps) const {
    std::optional<Seconds> longest = Seconds(0);
    for (const auto step : steps) {
      const auto time = facts_.took[step] ? facts_.took[step] : workflow_.steps[step].time_limit;
      if (!time) return {};
      longest = std::max(*longest, *time);
    }
    return longest;
  }

  std::string WhyApart(const Steps& steps) const {
    const auto first = JobSpecText(FirstOf(steps));
    const auto differs = [&](StepIndex step) { return JobSpecText(workflow_.steps[step]) != first; };
    if (std::ranges::any_of(steps, differs)) return "its steps ask for different resources";
    return graph_.ComesBack(steps) ? "its steps need each other by way of others" : "";
  }

  std::string WhyNotPacked(const Steps& steps, JobForm choice) const {
    if (choice == JobForm::kArray) return "jobs: array";
    if (FirstOf(steps).is_run()) return "an experiment has a job of its own";
    return choice == JobForm::kPacked ? "" : WhyNotSmall(steps);
  }

  std::string WhyNotSmall(const Steps& steps) const {
    if (FirstOf(steps).resources.gpus.value_or(0) > 0) return "its steps need GPUs";
    const auto longest = LongestOf(steps);
    if (!longest) return "it is not known how long its steps take";
    if (*longest > kLongestSmallStep) return fmt::format("its steps take {}", FormatDuration(*longest));
    if (!facts_.node) return "the size of a node is not known: no controller has answered";
    const auto fits = [&](const StepJob& job) { return job.form == JobForm::kPacked; };
    return WaitAlike(steps, fits) ? "" : "its steps wait for different jobs";
  }

  std::string WhyTasksCannotBe(const Steps& steps) const {
    if (WantsBurstBuffer(FirstOf(steps))) return "a burst buffer belongs to one job";
    return facts_.max_array_size < 2 ? "the site has no job arrays" : "";
  }

  std::string WhyNoArray(const Steps& steps) const {
    const auto fits = [&](const StepJob& job) {
      return job.form == JobForm::kArray && NeedOneByOne(workflow_, steps, job.steps);
    };
    return WaitAlike(steps, fits) ? "" : "its steps wait for different jobs";
  }

  /// Whether all of the steps wait for the same ones, apart from those whose jobs fit.
  template <class Fits>
  bool WaitAlike(const Steps& steps, const Fits& fits) const {
    std::map<StepIndex, std::size_t> counts;
    for (const auto step : steps) {
      for (const auto need : workflow_.needs[step]) {
        if (facts_.open[need] || facts_.live[need]) ++counts[need];
      }
    }
    std::map<std::size_t, bool> known;  // a job may hold many of the needs
    return std::ranges::all_of(counts, [&](const auto& entry) {
      if (entry.second == steps.size()) return true;
      const auto job = graph_.JobOf(entry.first);
      if (!job) return false;
      const auto [found, is_new] = known.try_emplace(*job, false);
      if (is_new) found->second = fits(jobs_[*job]);
      return found->second;
    });
  }

  const Workflow& workflow_;
  const JobFacts& facts_;
  JobGraph graph_;
  std::vector<StepJob> jobs_;
};

}  // namespace

std::optional<int> TaskOf(const Workflow& workflow, const StepJob& job, StepIndex step) {
  const auto& index = workflow.steps[step].index;
  if (job.form != JobForm::kArray || !index) return {};
  return *index - job.first_index;
}

std::vector<StepJob> ShapeJobs(const Workflow& workflow, const JobFacts& facts) {
  return Shaper(workflow, facts).Shape();
}

bool HasChoice(const Workflow& workflow) {
  return std::ranges::any_of(workflow.steps, [](const Step& step) { return step.index || !step.pack.empty(); });
}

}  // namespace slipway::launcher
