#include "launcher/workflow/step_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "launcher/spec/load.h"
#include "launcher/workflow/step_dependency.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::GraphOf;
using test::TempDirectory;
using test::WorkflowOf;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using enum JobForm;

JobFacts FactsFor(const Workflow& workflow, std::optional<Seconds> took = {}) {
  const auto count = workflow.steps.size();
  return {std::vector<bool>(count, true), std::vector<bool>(count, false),
          std::vector<std::optional<Seconds>>(count, took), NodeSize{4, {8ull << 30}}, 1001};
}

class Shapes : public testing::Test {
 protected:
  void Read(const std::string& steps) { workflow_ = WorkflowOf(folder_, steps); }

  /// "train: array of 3 afterok:job-of-prepare"
  std::vector<std::string> Shaped(const JobFacts& facts) {
    jobs_ = ShapeJobs(workflow_, facts);
    std::map<StepIndex, JobAddress> addresses;
    std::vector<std::string> lines;
    for (const auto& job : jobs_) {
      const auto after = DependencyOf(workflow_, job, [&](StepIndex need) {
        return addresses.contains(need) ? std::optional(addresses.at(need)) : std::nullopt;
      });
      lines.push_back(fmt::format("{}: {} {} {}", job.name, WordOf(job.form), job.steps.size(), after));
      for (const auto step : job.steps) {
        addresses[step] = {job.name, TaskOf(workflow_, job, step), job.steps};
      }
    }
    return lines;
  }
  std::vector<std::string> Shaped(std::optional<Seconds> took = {}) { return Shaped(FactsFor(workflow_, took)); }

  TempDirectory folder_;
  Workflow workflow_;
  std::vector<StepJob> jobs_;
};

constexpr const char* kSweep =
    "  prepare: {command: ['true']}\n"
    "  train: {foreach: [1, 2, 3], command: ['true', '${item}'], after: [prepare]}\n"
    "  rate: {foreach: '${steps.train}', command: ['true', '${item.folder}']}\n"
    "  all: {command: ['true', '${steps.rate.folder}']}\n";

TEST_F(Shapes, OfStepsOfUnknownLengthAreArraysWhoseTasksFollowEachOther) {
  Read(kSweep);
  EXPECT_THAT(Shaped(), ElementsAre("prepare: single 1 ", "train: array 3 afterok:prepare",
                                    "rate: array 3 aftercorr:train", "all: single 1 afterok:rate"));
  EXPECT_EQ(jobs_[1].why, "it is not known how long its steps take");
}

TEST_F(Shapes, OfSmallStepsArePacked) {
  Read(kSweep);
  EXPECT_THAT(Shaped(Seconds(20)), ElementsAre("prepare: single 1 ", "train: packed 3 afterok:prepare",
                                               "rate: packed 3 afterany:train", "all: single 1 afterok:rate"));
  EXPECT_EQ(jobs_[1].why, "small: its steps take 20.0 s");
  EXPECT_EQ(jobs_[1].size, (PackSize{3, 0, {}, Seconds(600)}));
}

TEST_F(Shapes, OfStepsWithAShortLimitArePacked) {
  Read("  train: {foreach: [1, 2], command: ['true', '${item}'], time_limit: 5m}\n");
  EXPECT_THAT(Shaped(), ElementsAre("train: packed 2 "));
  Read("  train: {foreach: [1, 2], command: ['true', '${item}'], time_limit: 6m}\n");
  EXPECT_THAT(Shaped(), ElementsAre("train: array 2 "));
  EXPECT_EQ(jobs_[0].why, "its steps take 6m00s");
}

TEST_F(Shapes, AreChosenByTheUser) {
  Read(
      "  a: {foreach: [1, 2], command: ['true', '${item}'], jobs: single}\n"
      "  b: {foreach: [1, 2], command: ['true', '${item}'], jobs: packed}\n"
      "  c: {foreach: [1, 2], command: ['true', '${item}'], jobs: array, time_limit: 1s}\n"
      "  d: {foreach: [1, 2], experiment: {train: {command: ['true', '${item}']}}, jobs: packed}\n");
  EXPECT_THAT(Shaped(), ElementsAre("a.0: single 1 ", "a.1: single 1 ", "b: packed 2 ", "c: array 2 ", "d: array 2 "));
  EXPECT_EQ(jobs_[4].why, "an experiment has a job of its own");
}

TEST_F(Shapes, AreArraysWhereTheStepsHaveALimit) {
  Read(
      "  a: {foreach: [1, 2, 3], command: ['true', '${item}'], parallel: 2, time_limit: 1s}\n"
      "  b: {foreach: ['${steps.a[2].folder}', x], command: ['true', '${item}'], parallel: 1}\n"
      "  c: {foreach: [1], command: ['true', '${item}'], parallel: 4}\n");
  EXPECT_THAT(Shaped(), ElementsAre("a: array 3 ", "b: array 2 afterany:a_2", "c.0: single 1 "));
  EXPECT_THAT(std::tie(jobs_[0].at_once, jobs_[0].why), FieldsAre(2, "parallel: 2"));
  EXPECT_EQ(jobs_[1].at_once, 1);
  EXPECT_EQ(jobs_[2].at_once, std::nullopt);
}

TEST_F(Shapes, WithALimitAreRefusedWhereNoArrayIsPossible) {
  Read("  a: {foreach: [1, 2], command: ['true'], resources: {cpus: '${item}'}, parallel: 1}\n");
  const auto message_of = [&](const JobFacts& facts) {
    try {
      Shaped(facts);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message_of(FactsFor(workflow_)), HasSubstr("step 'a' has 'parallel: 1', which needs a job array: its "
                                                         "steps ask for different resources"));
  Read("  a: {foreach: [1, 2, 3], command: ['true', '${item}'], parallel: 1}\n");
  auto facts = FactsFor(workflow_);
  facts.max_array_size = 2;
  EXPECT_THAT(message_of(facts), HasSubstr("the site's arrays end at task 1"));
}

TEST_F(Shapes, OfAPackHoldStepsThatNeedEachOther) {
  Read(
      "  a: {command: ['true'], pack: small, resources: {cpus: 2}, time_limit: 10m}\n"
      "  b: {command: ['true'], pack: small, after: [a], time_limit: 10m}\n"
      "  c: {command: ['true'], pack: small, after: [a], resources: {memory: 1GiB}, time_limit: 10m, retries: 1}\n"
      "  d: {command: ['true'], after: [b]}\n");
  EXPECT_THAT(Shaped(), ElementsAre("small: packed 3 ", "d: single 1 afterany:small"));
  EXPECT_EQ(jobs_[0].size, (PackSize{2, 0, {1ull << 30}, Seconds(600 + 1200 + 60)}));
}

TEST_F(Shapes, OfAPackHaveAtMostTheGpusOfTheSmallestNode) {
  Read(
      "  a: {foreach: [1, 2, 3, 4, 5], command: ['true', '${item}'], resources: {gpus: 1}, pack: p,"
      " time_limit: 10m}\n");
  auto facts = FactsFor(workflow_);
  facts.node->gpus = 2;
  Shaped(facts);
  EXPECT_EQ(jobs_[0].size, (PackSize{4, 2, {}, Seconds(3 * 600 + 60)})) << "three times two at once, or one";
  facts.node->gpus = 0;
  Shaped(facts);
  EXPECT_EQ(jobs_[0].size.gpus, 5) << "nothing is known";
}

TEST_F(Shapes, AreSplitWhereOneJobWouldTakeTooLong) {
  Read("  a: {foreach: [1,2,3,4,5,6,7,8,9,10], command: ['true', '${item}'], resources: {cpus: 4}}\n");
  EXPECT_THAT(Shaped(Seconds(300)), ElementsAre("a: packed 10 "));
  Read("  a: {foreach: [1,2,3,4,5,6,7,8,9,10,11,12,13,14], command: ['true', '${item}'], resources: {cpus: 4}}\n");
  EXPECT_THAT(Shaped(Seconds(300)), ElementsAre("a.0-6: packed 7 ", "a.7-13: packed 7 "));
  EXPECT_EQ(jobs_[0].size.time_limit, Seconds(7 * 900 + 60)) << "three times as long as before, one after the other";
}

TEST_F(Shapes, LeaveOutWhatIsNotOpen) {
  Read(kSweep);
  auto facts = FactsFor(workflow_);
  facts.open[workflow_.by_name.at("prepare")] = false;
  facts.open[workflow_.by_name.at("train.1")] = false;
  EXPECT_THAT(Shaped(facts),
              ElementsAre("train: array 2 ", "rate.0: single 1 afterok:train_0", "rate.1: single 1 ",
                          "rate.2: single 1 afterok:train_2", "all: single 1 afterok:rate.0:rate.1:rate.2"));
}

TEST_F(Shapes, DependOnWhatTheSiteCanDo) {
  Read(kSweep);
  auto facts = FactsFor(workflow_, Seconds(1));
  facts.node.reset();
  EXPECT_EQ(Shaped(facts)[1], "train: array 3 afterok:prepare");
  EXPECT_THAT(jobs_[1].why, HasSubstr("no controller has answered"));
  facts.max_array_size = 1;
  EXPECT_EQ(Shaped(facts)[1], "train.0: single 1 afterok:prepare");
  EXPECT_EQ(jobs_[1].why, "the site has no job arrays");
}

TEST_F(Shapes, OfALargeForeachAreSeveralArraysWhoseTasksFollowEachOther) {
  Read(
      "  make: {foreach: [a, b, c, d, e], command: ['true', '${item}']}\n"
      "  use: {foreach: '${steps.make}', command: ['true', '${item.folder}']}\n"
      "  all: {command: ['true', '${steps.use.folder}']}\n");
  auto facts = FactsFor(workflow_);
  facts.max_array_size = 2;
  EXPECT_THAT(Shaped(facts), testing::UnorderedElementsAre(
                                 "make.0-1: array 2 ", "make.2-3: array 2 ", "make.4: single 1 ",
                                 "use.0-1: array 2 aftercorr:make.0-1", "use.2-3: array 2 aftercorr:make.2-3",
                                 "use.4: single 1 afterok:make.4", "all: single 1 afterok:use.0-1:use.2-3:use.4"));
  const auto job_of = [&](const std::string& name) { return *std::ranges::find(jobs_, name, &StepJob::name); };
  EXPECT_THAT(job_of("make.4").why, HasSubstr("end at task 1"));
  const auto part = job_of("make.2-3");
  EXPECT_EQ(part.first_index, 2);
  EXPECT_EQ(TaskOf(workflow_, part, workflow_.by_name.at("make.3")), 1);
}

TEST_F(Shapes, DoNotFollowTasksOfOtherNumbers) {
  Read(kSweep);
  Shaped();
  const auto rate = *std::ranges::find(jobs_, "rate", &StepJob::name);
  const auto& train = workflow_.groups.at("train");
  const auto text = [&](int shift) {
    return DependencyOf(workflow_, rate, [&](StepIndex need) {
      return std::optional(JobAddress{"7", *workflow_.steps[need].index + shift, train});
    });
  };
  EXPECT_EQ(text(0), "aftercorr:7");
  EXPECT_EQ(text(1), "afterany:7_1:7_2:7_3") << "arrays of a submission with another limit";
}

TEST_F(Shapes, AreSingleWhereStepsNeedEachOtherByWayOfOthers) {
  Read(
      "  a: {foreach: ['x', '${steps.b.folder}'], command: ['true', '${item}'], jobs: array}\n"
      "  b: {command: ['true', '${steps.a[0].folder}']}\n");
  EXPECT_THAT(Shaped(), ElementsAre("a.0: single 1 ", "b: single 1 afterok:a.0", "a.1: single 1 afterok:b"));
}

TEST_F(Shapes, OfAJobOfWhichStepsAreOverWaitForItsEnd) {
  Read(kSweep);
  const StepJob all{kSingle, "all", {workflow_.by_name.at("all")}, {}, {}};
  const auto rate = workflow_.by_name.at("rate.0");
  const auto text = [&](const JobAddress& address) {
    return DependencyOf(workflow_, all,
                        [&](StepIndex need) { return need == rate ? std::optional(address) : std::nullopt; });
  };
  EXPECT_EQ(text({"7", {}, {rate}, true}), "afterany:7");
  EXPECT_EQ(text({"7", {}, {rate}, false}), "afterok:7");
  EXPECT_EQ(text({"7", 0, {rate}, true}), "afterok:7_0") << "one task is what it was";
}

std::string Refused(const std::string& steps) {
  const TempDirectory folder;
  try {
    WorkflowOf(folder, steps);
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}

TEST(Packs, AreRefusedWhereOneJobCannotHoldThem) {
  EXPECT_THAT(Refused("  a: {command: ['true'], pack: p}\n  b: {command: ['true'], after: [a]}\n"
                      "  c: {command: ['true'], after: [b], pack: p}\n"),
              HasSubstr("lies between two steps of it"));
  EXPECT_THAT(Refused("  a: {experiment: {train: {command: ['true']}}, pack: p}\n"),
              HasSubstr("'a' is an experiment, which has a job of its own"));
  EXPECT_THAT(Refused("  a: {command: ['true'], pack: p}\n  b: {command: ['true'], pack: p, slurm: {qos: high}}\n"),
              HasSubstr("differ in 'slurm'"));
}

/// Any graph, whose steps are in groups and packs by chance.
Workflow AnyWorkflow() {
  std::vector<std::vector<StepIndex>> needs(*rc::gen::inRange<std::size_t>(1, 24));
  for (StepIndex step = 1; step < needs.size(); ++step) {
    for (StepIndex need = 0; need < step; ++need) {
      if (*rc::gen::inRange(0, 5) == 0) needs[step].push_back(need);
    }
  }
  auto workflow = GraphOf(needs);
  workflow.groups.clear();
  const auto form = *rc::gen::element(kAuto, kArray, kPacked);
  for (auto& step : workflow.steps) {
    step.group = fmt::format("g{}", *rc::gen::inRange(0, 8));
    step.index = static_cast<int>(workflow.groups[step.group].size());
    step.jobs = form;
    if (*rc::gen::inRange(0, 4) == 0) step.pack = fmt::format("p{}", *rc::gen::inRange(0, 3));
    workflow.groups[step.group].push_back(workflow.by_name.at(step.name));
  }
  return workflow;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// What Slurm would do with the jobs while these steps fail.
class Simulation {
 public:
  Simulation(const Workflow& workflow, const std::vector<bool>& fails) : workflow_(workflow), fails_(fails) {}

  void Run(const std::vector<StepJob>& jobs) {
    for (const auto& job : jobs) {
      const auto dependency = DependencyOf(workflow_, job, [&](StepIndex need) {
        return address_.contains(need) ? std::optional(address_.at(need)) : std::nullopt;
      });
      if (job.form == kArray) {
        for (const auto step : job.steps) RunJob({step}, dependency, TaskOf(workflow_, job, step), job);
      } else {
        RunJob(job.steps, dependency, {}, job);
      }
    }
  }

  std::map<StepIndex, bool> done;

 private:
  void RunJob(const std::vector<StepIndex>& steps, const std::string& dependency, std::optional<int> task,
              const StepJob& job) {
    bool ok = Holds(dependency, task);
    for (const auto step : workflow_.order) {
      if (std::ranges::find(steps, step) == steps.end()) continue;
      const bool has_all = std::ranges::all_of(workflow_.needs[step], [&](StepIndex need) { return done[need]; });
      done[step] = Holds(dependency, task) && has_all && !fails_[step];
      ok = ok && done[step];
      address_[step] = {job.name, task, job.steps};
    }
    ended_[task ? fmt::format("{}_{}", job.name, *task) : job.name] = ok;
    if (task) ended_.try_emplace(job.name, true).first->second &= ok;
  }

  bool Holds(const std::string& dependency, std::optional<int> task) const {
    return std::ranges::all_of(Split(dependency, ','), [&](const std::string& part) {
      const auto words = Split(part, ':');
      return std::all_of(words.begin() + 1, words.end(), [&](const std::string& job) {
        if (words[0] == "afterany") return ended_.contains(job);
        return ended_.at(words[0] == "aftercorr" ? fmt::format("{}_{}", job, task.value()) : job);
      });
    });
  }

  const Workflow& workflow_;
  const std::vector<bool>& fails_;
  std::map<StepIndex, JobAddress> address_;
  std::map<std::string, bool> ended_;
};

RC_GTEST_PROP(StepJobs, StopWhatNeedsAFailedStepAndNothingElse, ()) {
  const auto workflow = AnyWorkflow();
  if (TroubleWithPacks(workflow)) return;
  auto facts = FactsFor(workflow, *rc::gen::element(Seconds(1), Seconds(1000)));
  facts.max_array_size = *rc::gen::element(1, 2, 3, 1001);
  const auto jobs = ShapeJobs(workflow, facts);
  std::vector<bool> fails;
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) fails.push_back(*rc::gen::inRange(0, 6) == 0);
  std::vector<int> count(workflow.steps.size(), 0);
  for (const auto& job : jobs) {
    RC_ASSERT(job.form != kAuto);
    for (const auto step : job.steps) ++count[step];
  }
  RC_ASSERT(std::ranges::all_of(count, [](int each) { return each == 1; }));
  Simulation simulation(workflow, fails);
  simulation.Run(jobs);
  std::vector<bool> expected(workflow.steps.size(), false);
  for (const auto step : workflow.order) {
    expected[step] =
        !fails[step] && std::ranges::all_of(workflow.needs[step], [&](StepIndex need) { return expected[need]; });
    RC_ASSERT(simulation.done.at(step) == expected[step]);
  }
}

}  // namespace
}  // namespace slipway::launcher
