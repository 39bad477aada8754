#include "launcher/workflow/read_workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "launcher/spec/checks.h"
#include "launcher/spec/convert.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/override.h"
#include "launcher/spec/read_fields.h"
#include "launcher/workflow/check_references.h"
#include "launcher/workflow/foreach.h"
#include "launcher/workflow/job_spec.h"
#include "launcher/workflow/pack.h"
#include "launcher/workflow/step_spec.h"
#include "launcher/workflow/workflow_files.h"
#include "launcher/workflow/workflow_table.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 4> kWorks = {"command", "experiment", "data", "report"};
constexpr std::array<std::string_view, 11> kShared = {
    "env", "resources", "time_limit", "retries", "experiment", "files", "code", "engine", "set", "slurm", "jobs"};

bool IsAmong(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

const YamlNode* ValueOf(const YamlNode& map, std::string_view key) {
  const auto* entry = map.Find(key);
  return entry == nullptr || entry->value.kind == Kind::kNull ? nullptr : &entry->value;
}

/// What it is called in messages.
std::string StepName(const std::string& group, std::optional<int> index) {
  return index ? fmt::format("{}.{}", group, *index) : group;
}

class Reader {
 public:
  explicit Reader(const fs::path& file) : report_(sources_) {
    workflow_.file = file;
    workflow_.directory = fs::absolute(file).lexically_normal().parent_path();
  }

  Workflow Read(const std::vector<std::string>& overrides) {
    auto files = ReadWorkflowFiles(workflow_.file, sources_, report_);
    tree_ = std::move(files.tree);
    workflow_.source = std::move(files.source);
    workflow_.included = std::move(files.included);
    for (const auto& text : overrides) LayOver(text);
    Stop();
    ReadTop();
    ReadSteps();
    Stop();  // what follows builds on all names
    Link();
    Stop();
    workflow_.warnings = report_.TakeWarnings();
    return std::move(workflow_);
  }

 private:
  void LayOver(const std::string& text) {
    auto given = ParseOverride(text, sources_, report_);
    if (!given) return;
    ExpandReferences(given->value, nullptr, sources_, LookUpInEnvironment, report_, kWorkflowReferences);
    MergeByKey(tree_, TreeOf(std::move(*given)));
  }

  void ReadTop() {
    if (auto* steps = tree_.Find("steps")) steps_ = std::move(steps->value);
    if (auto* defaults = tree_.Find("defaults")) defaults_ = std::move(defaults->value);
    std::erase_if(tree_.entries,
                  [](const YamlEntry& entry) { return entry.key == "steps" || entry.key == "defaults"; });
    Draft draft;
    ReadFieldsOf(WorkflowTree(), tree_, sources_, report_, draft);
    CheckNotes(report_, draft);
    BuildWorkflow(draft.values(), workflow_);
    CheckNotices(draft);
    CheckDefaults();
    if (steps_.kind == Kind::kMap && !steps_.entries.empty()) return;
    report_.Error(steps_.place, "a workflow needs 'steps', a map of names to steps");
    steps_ = {};
  }

  void CheckNotices(const Draft& draft) {
    for (std::size_t i = 0; i < workflow_.notify.size(); ++i) {
      for (const auto event : workflow_.notify[i].on) {
        if (event == NotifyOn::kEnd || event == NotifyOn::kFailure) continue;
        report_.Error(draft.PlaceOf(fmt::format("notify[{}].on", i)),
                      fmt::format("a workflow has no notification '{}': there are end and failure; an experiment has "
                                  "its own 'notify'",
                                  WordOf(event)));
      }
    }
  }

  void CheckDefaults() {
    if (defaults_.kind != Kind::kMap && defaults_.kind != Kind::kNull) {
      report_.Error(defaults_.place, "'defaults' is a map of fields of a step, such as 'retries: 1'");
      defaults_ = {};
    }
    for (const auto& entry : defaults_.entries) {
      if (IsAmong(entry.key, kShared)) continue;
      report_.Error(entry.key_place, fmt::format("{} is no field that steps can share; there are: {}",
                                                 Quoted(entry.key), fmt::join(kShared, ", ")));
    }
    CheckVariables(defaults_);
  }

  /// As written: what steps share is reported once.
  void CheckVariables(const YamlNode& fields) {
    const auto* variables = ValueOf(fields, "env");
    if (variables == nullptr) return;
    for (const auto& entry : variables->entries) {
      if (auto why = WhyNotSettable(entry.key); !why.empty()) report_.Error(entry.key_place, std::move(why));
    }
  }

  void ReadSteps() {
    for (const auto& entry : steps_.entries) bodies_.emplace(entry.key, &entry.value);
    for (const auto& entry : steps_.entries) {
      if (report_.IsFull()) return;
      if (CheckName(entry)) ReadGroup(entry);
    }
  }

  bool CheckName(const YamlEntry& entry) {
    static constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz";
    const bool is_name = !entry.key.empty() && entry.key.size() <= 64 &&
                         kFirst.find(entry.key[0]) != std::string_view::npos &&
                         entry.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!is_name) {
      report_.Error(entry.key_place,
                    fmt::format("{} cannot be the name of a step: use at most 64 small letters, digits "
                                "and '_', a letter first",
                                Quoted(entry.key)));
    } else if (entry.value.kind != Kind::kMap) {
      report_.Error(entry.key_place, fmt::format("step '{}' is a map of fields such as 'command: [make]'", entry.key));
    } else {
      return true;
    }
    return false;
  }

  void ReadGroup(const YamlEntry& entry) {
    CheckVariables(entry.value);
    auto body = WithDefaults(entry);
    const auto* foreach = ValueOf(body, "foreach");
    if (foreach == nullptr) {
      RefuseItems(body, report_);
      return AddStep(ReadStep(entry, body, {}, report_));
    }
    const auto items = ItemsOf(*foreach, report_, [&](const std::string& group) { return InstancesOf(group, 0); });
    for (std::size_t i = 0; i < items.size(); ++i) ReadInstance(entry, body, items[i], static_cast<int>(i));
  }

  /// What is wrong with all of them is reported once.
  void ReadInstance(const YamlEntry& entry, const YamlNode& body, const Item& item, int index) {
    auto own = body;
    std::erase_if(own.entries, [](const YamlEntry& each) { return each.key == "foreach"; });
    Report further(sources_);
    auto& report = index == 0 || !report_.HasErrors() ? report_ : further;
    PutItem(own, item, index, report);
    AddStep(ReadStep(entry, own, index, report));
  }

  /// The number of steps that a group has with foreach. `depth` ends circles.
  std::optional<int> InstancesOf(const std::string& group, std::size_t depth) {
    const auto body = bodies_.find(group);
    if (body == bodies_.end() || depth > bodies_.size()) return {};
    const auto* foreach = ValueOf(*body->second, "foreach");
    if (foreach == nullptr) return {};
    Report unused(sources_);
    const auto items =
        ItemsOf(*foreach, unused, [&](const std::string& other) { return InstancesOf(other, depth + 1); });
    return static_cast<int>(items.size());
  }

  YamlNode WithDefaults(const YamlEntry& entry) const {
    if (defaults_.kind != Kind::kMap) return entry.value;
    auto body = defaults_;
    // The reader of specs merges them by their own fields.
    std::erase_if(body.entries, [](const YamlEntry& each) { return each.key == "experiment" || each.key == "set"; });
    if (body.entries.empty()) return entry.value;
    MergeByKey(body, entry.value);
    body.place = entry.key_place;
    return body;
  }

  Step ReadStep(const YamlEntry& entry, const YamlNode& body, std::optional<int> index, Report& report) {
    Draft draft;
    ReadFieldsOf(StepTree(), body, sources_, report, draft);
    StepFields fields;
    BuildStep(draft.values(), fields);
    auto step = std::move(fields.step);
    step.group = entry.key;
    step.index = index;
    step.name = StepName(entry.key, index);
    step.place = report.At(entry.key_place);
    step.origins = std::move(draft.origins);
    for (auto& [name, value] : step.inputs) value = Absolute(value, draft.PlaceOf("inputs." + name));
    for (std::size_t i = 0; i < fields.files.size(); ++i) {
      step.files.push_back(Absolute(fields.files[i], draft.PlaceOf(fmt::format("files[{}]", i))));
    }
    step.work = WorkOf(entry, body, fields, report);
    if (const auto* slurm = ValueOf(body, "slurm")) TakeSlurm(*slurm, step, report);
    if (const auto why = WhyNotParallel(step); !why.empty()) report.Error(draft.PlaceOf("parallel"), why);
    draft.places.emplace("", entry.key_place);
    draft.places[""] = entry.key_place;
    places_.push_back(std::move(draft.places));
    return step;
  }

  static std::string WhyNotParallel(const Step& step) {
    if (!step.parallel) return {};
    if (!step.index) return "'parallel' limits the steps of a foreach: there is none";
    if (!step.pack.empty()) return fmt::format("'parallel' needs a job array, and 'pack: {}' is one job", step.pack);
    const bool is_array = step.jobs == JobForm::kAuto || step.jobs == JobForm::kArray;
    return is_array ? "" : fmt::format("'parallel' needs a job array, and it has 'jobs: {}'", WordOf(step.jobs));
  }

  /// It is checked where it comes to stand: in the spec of the step's job.
  void TakeSlurm(const YamlNode& slurm, Step& step, Report& report) {
    if (slurm.kind != Kind::kMap) {
      return report.Error(slurm.place,
                          "'slurm' is a map of fields as launch.slurm has them, such as {partition: debug}");
    }
    step.slurm = std::make_shared<const YamlNode>(slurm);
    if (report.HasErrors()) return;
    auto spec = JobSpecOf(step);
    spec.place = slurm.place;
    CheckSpecTree(std::move(spec), sources_, report);
  }

  std::string Absolute(const std::string& path, const Place& place) const {
    if (path.find("${") != std::string::npos) return path;
    return (sources_[place.source].directory / WithHome(path)).lexically_normal().string();
  }

  Work WorkOf(const YamlEntry& entry, const YamlNode& body, StepFields& fields, Report& report) {
    std::vector<std::string_view> given;
    for (const auto work : kWorks) {
      if (ValueOf(body, work) != nullptr) given.push_back(work);
    }
    if (given.size() != 1) {
      report.Error(entry.key_place,
                   fmt::format("step '{}' needs one of: {}; it has {}", entry.key, fmt::join(kWorks, ", "),
                               given.empty() ? "none" : fmt::format("{}", fmt::join(given, ", "))));
      return CommandStep{};
    }
    if (given[0] == "experiment") return ReadSpecOfStep(SpecSources(entry, body), sources_, report);
    if (const auto* set = body.Find("set")) report.Error(set->key_place, "'set' changes an experiment: there is none");
    if (given[0] == "data") return DataStep{std::move(fields.data)};
    if (given[0] == "report") return ReportStep{std::move(fields.report)};
    if (fields.command.empty()) report.Error(body.Find("command")->key_place, "'command' has no words");
    return CommandStep{std::move(fields.command)};
  }

  StepSpecSources SpecSources(const YamlEntry& entry, const YamlNode& body) const {
    StepSpecSources sources{entry.key, entry.key_place, *ValueOf(body, "experiment"), {}, {}};
    if (const auto* below = ValueOf(defaults_, "experiment")) sources.defaults = *below;
    for (const auto* map : {&defaults_, &body}) {
      const auto* set = ValueOf(*map, "set");
      if (set != nullptr) sources.set.push_back(*set);
    }
    return sources;
  }

  void AddStep(Step step) {
    const auto index = workflow_.steps.size();
    workflow_.by_name.emplace(step.name, index);
    workflow_.groups[step.group].push_back(index);
    workflow_.steps.push_back(std::move(step));
  }

  void Link() {
    const FieldPlaces place_of = [&](StepIndex step, const std::string& field) { return PlaceOf(step, field); };
    LinkFiles(workflow_, place_of, report_);
    LinkSteps(workflow_, place_of, report_);
    if (!report_.HasErrors()) OrderSteps(workflow_, place_of, report_);
    if (report_.HasErrors()) return;
    if (const auto trouble = TroubleWithPacks(workflow_)) {
      report_.Error(PlaceOf(trouble->step, "pack"), trouble->why);
    }
  }

  Place PlaceOf(StepIndex step, std::string field) const {
    const auto& places = places_[step];
    for (;;) {
      const auto found = places.find(field);
      if (found != places.end()) return found->second;
      const auto end = field.find_last_of(".[");
      field.resize(end == std::string::npos ? 0 : end);
    }
  }

  void Stop() {
    if (report_.HasErrors()) throw SpecError(report_.TakeErrors());
  }

  Workflow workflow_;
  Sources sources_;
  Report report_;
  YamlNode tree_;
  YamlNode steps_;
  YamlNode defaults_;
  std::map<std::string, const YamlNode*, std::less<>> bodies_;
  std::vector<std::map<std::string, Place>> places_;  ///< of the fields of each step
};

}  // namespace

std::span<const std::string_view> FieldsThatStepsShare() { return kShared; }

Workflow ReadWorkflow(const fs::path& file, const std::vector<std::string>& overrides) {
  return Reader(file).Read(overrides);
}

}  // namespace slipway::launcher
