#include "launcher/workflow/job_graph.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace slipway::launcher {

JobGraph::JobGraph(const Workflow& workflow, std::vector<bool> open)
    : workflow_(workflow), open_(std::move(open)), job_of_(workflow.steps.size()) {}

void JobGraph::Tie(const std::vector<StepIndex>& steps) {
  for (const auto step : steps) job_of_[step] = jobs_.size();
  jobs_.push_back(steps);
}

bool JobGraph::ComesBack(const std::vector<StepIndex>& steps) const {
  std::vector<bool> among(workflow_.steps.size(), false);
  for (const auto step : steps) among[step] = true;
  std::vector<bool> seen(workflow_.steps.size(), false);
  std::vector<StepIndex> way;
  const auto visit = [&](StepIndex step) {
    if (!open_[step] || seen[step]) return;
    seen[step] = true;
    way.push_back(step);
  };
  for (const auto step : steps) {
    for (const auto next : workflow_.dependants[step]) {
      if (!among[next]) visit(next);
    }
  }
  while (!way.empty()) {
    const auto at = way.back();
    way.pop_back();
    if (among[at]) return true;
    std::ranges::for_each(workflow_.dependants[at], visit);
    if (job_of_[at]) std::ranges::for_each(jobs_[*job_of_[at]], visit);
  }
  return false;
}

std::vector<std::vector<std::size_t>> JobGraph::Needs() const {
  std::vector<std::vector<std::size_t>> needs;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    std::set<std::size_t> before;
    for (const auto step : jobs_[job]) {
      for (const auto need : workflow_.needs[step]) {
        if (job_of_[need] && *job_of_[need] != job) before.insert(*job_of_[need]);
      }
    }
    needs.emplace_back(before.begin(), before.end());
  }
  return needs;
}

bool NeedOneByOne(const Workflow& workflow, const std::vector<StepIndex>& steps, const std::vector<StepIndex>& others) {
  const std::set<StepIndex> all(others.begin(), others.end());
  return std::ranges::all_of(steps, [&](StepIndex step) {
    std::vector<StepIndex> own;
    std::ranges::copy_if(workflow.needs[step], std::back_inserter(own), [&](auto need) { return all.contains(need); });
    return own.size() == 1 && workflow.steps[own.front()].index == workflow.steps[step].index;
  });
}

}  // namespace slipway::launcher
