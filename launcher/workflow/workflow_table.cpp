#include "launcher/workflow/workflow_table.h"

#include <nlohmann/json.hpp>

#include "launcher/spec/spec_visitor.h"

namespace slipway::launcher {
namespace {

using namespace type;
using enum TypeKind;

const DocumentName kWorkflow{"the workflow", ErrorKind::kInternal};

/// A field that is not read by the table: it may hold references and lists of any form.
struct ReadElsewhere {};
void ReadValue(const JsonPlace&, ReadElsewhere) {}

Type Words() { return ListOf(Of(kText)); }
Type NamedTexts() { return MapOf(Of(kText)); }

}  // namespace

void Visit(SpecVisitor& visit, StepResources& resources) {
  visit({"cpus", Integer(1), "", "Cores. Left out: 1, or what the experiment needs.", "4"}, resources.cpus);
  visit({"gpus", Integer(0), "", "GPUs. Left out: none, or what the experiment needs.", "1"}, resources.gpus);
  visit({"memory", Of(kBytes), "", "Memory. Left out: it is not counted.", "8GB"}, resources.memory);
}

namespace {

void VisitWork(SpecVisitor& visit, StepFields& fields) {
  visit({"command", Words(), "", "A program and its arguments, each a word of its own.",
         "[python, prepare.py, \"${outputs.train}\"]"},
        fields.command);
  visit({"experiment", Of(kFree), "", "A spec, or the path of one. With `ensemble` in it, it is an ensemble.",
         "fashion.yaml"},
        ReadElsewhere{});
  visit(
      {"set", Of(kFree), "", "Fields of the experiment by dotted path, as --set has them.", "{train.args.epochs: 20}"},
      ReadElsewhere{});
  visit({"data", Words(), "", "The words of a `slipway data` command: make, convert, reshard, verify.",
         "[make, cosmoflow, \"${outputs.data}\"]"},
        fields.data);
  visit({"report", Words(), "", "Steps whose runs get a report page.", "[search, train]"}, fields.report);
}

void VisitStep(SpecVisitor& visit, StepFields& fields) {
  auto& step = fields.step;
  visit({"description", Of(kText), "\"\"", "What the step is for, for people.", "Longer training"}, step.description);
  VisitWork(visit, fields);
  visit({"after", Words(), "[]", "Steps that must be done before, beside those that references name.", "[prepare]"},
        step.after);
  visit({"when", Of(kText), "\"\"", "A condition; when it is false, the step and its dependants are skipped.",
         "\"${steps.train.metrics.accuracy} >= 0.8\""},
        step.when);
  visit({"foreach", Of(kFree), "", "Values, or a range of an earlier search: one step for each, with `${item}`.",
         "\"${steps.search.top[0..2]}\""},
        ReadElsewhere{});
  visit({"inputs", NamedTexts(), "{}", "Files and folders that it reads: their content is a part of its key.",
         "{raw: data/raw.csv}"},
        step.inputs);
  visit({"outputs", NamedTexts(), "{}", "What it writes: names in its own folder, published when it succeeds.",
         "{train: train.tfrecord}"},
        step.outputs);
  visit({"files", Words(), "[]", "Further files of the program, such as modules: patterns are allowed.", "[src/*.py]"},
        fields.files);
  visit({"code", WordsFor<CodeInKey>(), "files", "What stands for its program in its key.", "git"}, step.code);
  visit({"env", NamedTexts(), "{}", "Environment variables of its program.", "{OMP_NUM_THREADS: \"4\"}"}, step.env);
  visit({"engine", WordsFor<EngineChoice>(), "auto", "Where it runs.", "local"}, step.engine);
  visit.Section({"resources", Section(), "", "What it needs while it runs.", ""}, step.resources);
  visit({"slurm", Of(kFree), "", "What its Slurm job asks for, as `launch.slurm` of a spec.", "{partition: debug}"},
        ReadElsewhere{});
  visit({"jobs", WordsFor<JobForm>(), "auto", "With Slurm: how the steps of a `foreach` become jobs.", "array"},
        step.jobs);
  visit({"parallel", Integer(1), "", "How many steps of a `foreach` run at a time. Left out: as many as fit.", "4"},
        step.parallel);
  visit({"pack", Of(kName), "", "With Slurm: steps with the same name here share one job.", "small"}, step.pack);
  visit({"time_limit", Of(kDuration), "", "It is ended and fails after this time.", "2h"}, step.time_limit);
  visit({"retries", Integer(0, 100), "0", "How often it starts again after a failure.", "2"}, step.retries);
}

void VisitTop(SpecVisitor& visit, Workflow& workflow) {
  visit({"name", Of(kName), "", "Name of the workflow; its run folders begin with it.", "cosmoflow",
         UsedBy::kAllEngines, Need::kRequired},
        workflow.name);
  visit({"description", Of(kText), "\"\"", "What the workflow is for, for people.", "From data to a model"},
        workflow.description);
  visit({"tags", ListOf(Of(kText)), "[]", "Words to find its runs by.", "[paper]"}, workflow.tags);
  visit.List<NotifySpec>({"notify", ListOf(Section()), "[]", "Notifications: the workflow ends, a step fails.", ""},
                         workflow.notify, [](SpecVisitor& inner, NotifySpec& notify) { Visit(inner, notify); });
  visit({"include", Words(), "[]", "Workflow files below this one: its own values win.", "[base.yaml]"},
        ReadElsewhere{});
  visit({"defaults", Of(kFree), "", "Fields of a step that all steps share.", "{retries: 1}"}, ReadElsewhere{});
  visit({"steps", Of(kFree), "", "The steps by name: small letters, digits and '_'.", ""}, ReadElsewhere{});
}

std::vector<Field> FieldsOfStep() {
  std::vector<Field> fields;
  SpecVisitor visit(fields, "");
  StepFields any;
  VisitStep(visit, any);
  return fields;
}

std::vector<Field> FieldsOfTop() {
  std::vector<Field> fields;
  SpecVisitor visit(fields, "");
  Workflow any;
  VisitTop(visit, any);
  return fields;
}

}  // namespace

const FieldNode& WorkflowTree() {
  static const auto kFields = FieldsOfTop();
  static const auto kTree = TreeOf(kFields);
  return kTree;
}

const FieldNode& StepTree() {
  static const auto kFields = FieldsOfStep();
  static const auto kTree = TreeOf(kFields);
  return kTree;
}

void BuildStep(const Json& values, StepFields& step) {
  const JsonPlace place(values, kWorkflow);
  SpecVisitor visit(place);
  VisitStep(visit, step);
}

void BuildWorkflow(const Json& values, Workflow& workflow) {
  const JsonPlace place(values, kWorkflow);
  SpecVisitor visit(place);
  VisitTop(visit, workflow);
}

}  // namespace slipway::launcher
