#include "launcher/workflow/step_dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "launcher/workflow/job_graph.h"

namespace slipway::launcher {
namespace {

using Steps = std::vector<StepIndex>;

/// Another job that some steps of this one need.
struct Other {
  bool is_array = false;
  bool is_partial = false;
  Steps steps;
  std::map<StepIndex, int> tasks;  ///< of an array: those that are needed
};

class Dependency {
 public:
  Dependency(const Workflow& workflow, const StepJob& job) : workflow_(workflow), job_(job) {}

  std::string Text(const std::function<std::optional<JobAddress>(StepIndex)>& address_of) {
    for (const auto need : OuterNeeds()) {
      auto address = address_of(need);
      if (!address) continue;
      const auto [other, is_new] = others_.try_emplace(address->number);
      if (is_new) numbers_.push_back(address->number);
      if (is_new) other->second = {address->task.has_value(), address->is_partial, std::move(address->steps), {}};
      if (address->task) other->second.tasks.emplace(need, *address->task);
    }
    for (const auto& number : numbers_) Add(number, others_.at(number));
    return Joined();
  }

 private:
  std::set<StepIndex> OuterNeeds() const {
    std::set<StepIndex> needs;
    for (const auto step : job_.steps) needs.insert(workflow_.needs[step].begin(), workflow_.needs[step].end());
    for (const auto step : job_.steps) needs.erase(step);
    return needs;
  }

  void Add(const std::string& number, const Other& other) {
    const bool is_whole = !other.is_partial;
    if (!other.is_array) return Put(is_whole && AllNeed(other.steps) ? "afterok" : "afterany", number);
    if (is_whole && TasksFollow(other)) {
      return Put("aftercorr", number);
    }
    if (is_whole && other.tasks.size() == other.steps.size() && AllNeed(other.steps)) return Put("afterok", number);
    for (const auto& [step, task] : other.tasks) {
      Put(AllNeed({step}) ? "afterok" : "afterany", fmt::format("{}_{}", number, task));
    }
  }

  /// Slurm goes by the numbers of the tasks.
  bool TasksFollow(const Other& other) const {
    if (job_.form != JobForm::kArray || !NeedOneByOne(workflow_, job_.steps, other.steps)) return false;
    return std::ranges::all_of(job_.steps, [&](StepIndex step) {
      return std::ranges::any_of(workflow_.needs[step], [&](StepIndex need) {
        const auto task = other.tasks.find(need);
        return task != other.tasks.end() && task->second == TaskOf(workflow_, job_, step);
      });
    });
  }

  bool AllNeed(const Steps& others) const {
    std::set<StepIndex> both(others.begin(), others.end());
    both.insert(job_.steps.begin(), job_.steps.end());
    return std::ranges::all_of(job_.steps, [&](StepIndex step) {
      const auto before = Before(step, both);
      return std::ranges::all_of(others, [&](StepIndex other) { return before.contains(other); });
    });
  }

  /// What the step depends on, by way of these steps.
  std::set<StepIndex> Before(StepIndex step, const std::set<StepIndex>& among) const {
    std::set<StepIndex> before;
    Steps way{step};
    while (!way.empty()) {
      const auto at = way.back();
      way.pop_back();
      for (const auto need : workflow_.needs[at]) {
        if (among.contains(need) && before.insert(need).second) way.push_back(need);
      }
    }
    return before;
  }

  void Put(const std::string& kind, const std::string& number) {
    auto& list = lists_[kind];
    if (list.empty()) kinds_.push_back(kind);
    list += ":" + number;
  }

  std::string Joined() const {
    std::string text;
    for (const auto& kind : kinds_) text += (text.empty() ? "" : ",") + kind + lists_.at(kind);
    return text;
  }

  const Workflow& workflow_;
  const StepJob& job_;
  std::map<std::string, Other> others_;
  std::vector<std::string> numbers_;  ///< in the order of the workflow
  std::map<std::string, std::string> lists_;
  std::vector<std::string> kinds_;
};

}  // namespace

std::string DependencyOf(const Workflow& workflow, const StepJob& job,
                         const std::function<std::optional<JobAddress>(StepIndex)>& address_of) {
  return Dependency(workflow, job).Text(address_of);
}

}  // namespace slipway::launcher
