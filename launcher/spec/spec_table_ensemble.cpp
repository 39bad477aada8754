#include <limits>

#include "ensemble/analysis/scoring.h"
#include "ensemble/analysis/selection.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/schedulers/scheduler.h"
#include "launcher/spec/spec_forms.h"
#include "launcher/spec/spec_visitor.h"

namespace slipway::launcher {
namespace {

/// What `read` makes of the value; it may throw what the JSON library throws.
template <class Read>
auto ReadAs(const JsonPlace& place, const char* what, Read&& read) try {
  return read(place.json());
} catch (const nlohmann::json::exception&) {
  place.Refuse(what);
}

using namespace type;
using enum TypeKind;
using enum SectionPresence;

/// Of each objective; `example` is a metric.
void VisitAnyObjective(SpecVisitor& visit, ensemble::Objective& objective, const char* example) {
  visit({"metric", Of(kText), "", "Metric that the program reports.", example, UsedBy::kAllEngines, Need::kRequired},
        objective.metric);
  visit({"goal", WordsFor<ensemble::Goal>(), "minimize", "Which values are good.", "maximize"}, objective.goal);
  visit({"value", WordsFor<ensemble::CountedValue>(), "last", "Which of a trial's values counts.", "last"},
        objective.counts);
}

void VisitObjective(SpecVisitor& visit, ensemble::Objective& objective) {
  VisitAnyObjective(visit, objective, "validation_accuracy");
  visit({"reach", AnyNumber(), "", "Time to accuracy: the seconds until the metric is as good as this; less is better.",
         "0.75"},
        objective.reach);
}

void VisitFurtherObjective(SpecVisitor& visit, ensemble::Objective& objective) {
  VisitAnyObjective(visit, objective, "throughput");
}

}  // namespace

void ReadValue(const JsonPlace& place, Values& form) {
  form.point = ReadAs(place, "values by name", ensemble::PointFromJson);
}

void ReadValue(const JsonPlace& place, ArgumentValues& form) {
  form.args = ReadAs(place, "values and lists by name", ArgumentsFromJson);
}

void ReadValue(const JsonPlace& place, Points& form) {
  for (std::size_t i = 0; i < place.size(); ++i) {
    Values values{form.points.emplace_back()};
    ReadValue(place.Element(i), values);
  }
}

void ReadValue(const JsonPlace& place, Space& form) {
  for (const auto& name : place.Names()) {
    form.parameters.push_back(ReadAs(*place.Member(name), "the values of a parameter",
                                     [&](const Json& json) { return ensemble::ParseParameter(name, json); }));
  }
}

void Visit(SpecVisitor& visit, SchedulerSpec& scheduler) {
  visit({"type", Words(ensemble::SchedulerNames()), "", "The rule.", "asha", UsedBy::kAllEngines, Need::kRequired},
        scheduler.settings.type);
  visit({"resource", Of(kText), "epoch", "What a trial spends: step, epoch or a metric.", "epoch"}, scheduler.resource);
  visit({"min", Number(0), "1", "Resource before the first decision; the first rung.", "1"}, scheduler.settings.min);
  visit({"max", Number(0), "", "Resource of a whole trial.", "9"}, scheduler.settings.max);
  visit({"reduction", Integer(2), "3", "One in this many goes on from a rung.", "3"}, scheduler.settings.reduction);
  visit({"percentile", Between(0, 100), "50", "percentile: the best so many percent go on.", "25"},
        scheduler.settings.percentile);
  visit(
      {"patience", Integer(0), "0", "Reports without improvement after which a trial may be ended; 0: not asked.", "5"},
      scheduler.settings.patience);
  visit({"lower", AnyNumber(), "", "threshold: a trial below this is ended.", "0.2"}, scheduler.settings.lower);
  visit({"upper", AnyNumber(), "", "threshold: a trial above this is ended.", "10"}, scheduler.settings.upper);
  visit({"startup", Integer(0), "5", "median, percentile: complete trials to compare with first.", "5"},
        scheduler.settings.startup);
  visit({"interval", Number(0), "0", "Resource between two decisions; 0: at each report.", "2"},
        scheduler.settings.interval);
  visit({"quantile", Between(0, 0.5), "0.25", "pbt: the part of the population that is replaced.", "0.2"},
        scheduler.settings.quantile);
  visit({"population", Integer(0), "0", "pbt: its size; 0: as many as run at a time.", "16"},
        scheduler.settings.population);
  visit({"p_value", Between(0, 1), "0.1",
         "wilcoxon: largest p-value at which the repeats of a worse configuration are left out.", "0.05"},
        scheduler.settings.p_value);
}

void Visit(SpecVisitor& visit, BudgetSpec& budget) {
  visit({"time", Of(kDuration), "", "Time of all runs of it together.", "8h"}, budget.time);
  visit({"node_hours", Between(0, 1e9), "", "Nodes times hours of all attempts.", "100"}, budget.node_hours);
}

void Visit(SpecVisitor& visit, SelectSpec& select) {
  visit({"top", Integer(1), "", "Most different members; left out: 25 of greedy, 3 of best.", "3"}, select.top);
  visit({"method", Words(AllWords<ensemble::SelectionMethod>()), "greedy",
         "How members are chosen; `greedy`: the trial that improves the average most, `best`: by the objective.",
         "greedy"},
        select.method);
  visit({"by", Words({"trial", "configuration"}), "trial",
         "What a member is; `trial`, or `configuration` with the average of what its `repeats` predict.",
         "configuration"},
        select.by);
  visit({"metric", Words(AllWords<ensemble::SelectionMetric>()), "",
         "What the averaged predictions are scored by; left out: log_loss of classes, rmse of numbers.", "log_loss"},
        select.metric);
}

void Visit(SpecVisitor& visit, EnsembleSpec& ensemble) {
  visit.Section(
      {"objective", Section(), "", "What the trials are ranked by.", "", UsedBy::kAllEngines, Need::kRequired},
      ensemble.objective, VisitObjective);
  visit.List({"objectives", ListOf(Section()), "[]", "Further objectives, beside the first.", ""},
             ensemble.more_objectives, VisitFurtherObjective);
  visit({"trials", Integer(1), "", "Number of configurations to try; may be left out with sampler: grid.", "16"},
        ensemble.trials);
  visit({"parallel", OneOf({Integer(1), Words({"auto"})}), "1", "Trials at a time; `auto`: as many as fit.", "2"},
        OrAuto{ensemble.parallel});
  visit({"placement", WordsFor<Placement>(), "allocation", "Where trials run.", "job", UsedBy::kSlurm},
        ensemble.placement);
  visit({"nodes_per_trial", Integer(1), "1", "Nodes of each trial, out of launch.nodes.", "2"},
        ensemble.nodes_per_trial);
  visit({"sampler", Words(ensemble::SamplerNames()), "auto", "How the next values are chosen.", "random"},
        ensemble.sampler);
  visit({"seed", Seed(), "0", "Same seed, same values.", "1"}, ensemble.seed);
  visit({"max_failures", Integer(0), "",
         "The ensemble fails when more trials than this fail; left out: when none succeeds.", "2"},
        ensemble.max_failures);
  visit({"stop_on_same_failure", Integer(0), "3",
         "Failures of the same cause that end the ensemble; 0: never. Counted are the first trials, and later trials "
         "in a row that cannot be run.",
         "0"},
        ensemble.stop_on_same_failure);
  visit({"time_limit", Of(kDuration), "",
         "Time that one trial may run, all its attempts together; then it is ended as timed out.", "30m"},
        ensemble.time_limit);
  visit({"space", MapOf(Of(kFree)), "",
         "The values to search: uniform, log, int, int_log, choice, ordinal or fixed; `step` and the condition `when` "
         "are "
         "optional.",
         "{lr: {log: [1.0e-4, 1.0e-1]}, momentum: {uniform: [0, 0.99], when: {optimizer: sgd}}}", UsedBy::kAllEngines,
         Need::kRequired},
        Space{ensemble.space});
  visit({"constraints", ListOf(Of(kText)), "[]", "Conditions between parameters that every trial meets.",
         "[\"units_1 <= units_0\", \"optimizer == 'sgd' or lr < 0.01\"]"},
        ensemble.constraints);
  visit({"points", ListOf(MapOf(Of(kFree))), "[]",
         "Configurations of the first trials; what one leaves out is drawn at random.", "[{lr: 0.01}]"},
        Points{ensemble.points});
  visit.Section({"scheduler", Section(kOptional), "", "Ends weak trials early.", ""}, ensemble.scheduler);
  visit.Section({"budget", Section(kOptional), "", "Limits of the whole ensemble, beside the number of trials.", ""},
                ensemble.budget);
  visit({"repeats", Integer(1), "1",
         "Runs of each configuration; SLIPWAY_REPEAT counts them, and an argument `seed` is raised by it.", "3"},
        ensemble.repeats);
  visit.Section({"select", Section(kOptional), "",
                 "At the end of a run: the model ensemble, chosen as `slipway trials select` chooses it.", ""},
                ensemble.select);
}

}  // namespace slipway::launcher
