#include "launcher/cli/commands/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/cli/doctor/checks.h"
#include "launcher/plan/exchange.h"

namespace slipway::launcher {
namespace {

constexpr char kAbout[] = "experiment";
constexpr auto kPlanLimit = std::chrono::seconds(60);

Finding FindingOf(const Diagnostic& diagnostic, Grade grade) {
  const auto place = diagnostic.line > 0 ? fmt::format("{}:{}: ", diagnostic.file, diagnostic.line) : "";
  const auto remedy = diagnostic.suggestion.empty() ? "" : fmt::format("did you mean '{}'?", diagnostic.suggestion);
  return {grade, kAbout, place + diagnostic.message, remedy};
}

/// What is in the way of `slipway run`, each thing a line.
Findings LookAtExperiment(const SpecSelection& selection, const std::filesystem::path& runs_directory) try {
  auto document = LoadSpec(selection.spec, selection.overrides);
  Findings findings;
  for (const auto& warning : document.warnings) findings.push_back(FindingOf(warning, Grade::kWarn));
  const auto plan = MakePlan(std::move(document), runs_directory);
  findings.push_back(Ok(kAbout, fmt::format("{} can be planned: engine {}, {}", plan.spec().name, plan.engine,
                                            Counted(plan.spec().launch.ranks(), "rank"))));
  return findings;
} catch (const SpecError& error) {
  Findings findings;
  for (const auto& diagnostic : error.diagnostics()) findings.push_back(FindingOf(diagnostic, Grade::kFail));
  return findings;
}

Spec SpecOf(const SpecSelection& selection) try {
  return selection.spec.empty() ? Spec{} : LoadSpec(selection.spec, selection.overrides).spec;
} catch (const Error&) {  // the experiment's own check says it
  return {};
}

GpuSurroundings SurroundingsOf(const Spec& spec) try { return SurroundingsOfRanks(spec); } catch (const Error&) {
  return {};  // the experiment's own check says it
}

std::vector<Check> ChecksFor(const DoctorOptions& options, const Session& session) {
  DoctorRequest request;
  request.runs_directory = session.runs_directory;
  const auto spec = SpecOf(options.selection);
  request.asked = spec.launch.engine;
  request.start = spec.launch.slurm.start;
  request.mpi = spec.launch.mpi;
  request.experiment = spec;
  request.surroundings = SurroundingsOf(spec);
  request.try_srun = options.try_srun;
  auto checks = MachineChecks(request);
  if (!options.selection.spec.empty()) {
    checks.push_back({kAbout, kPlanLimit, [selection = options.selection, runs = session.runs_directory] {
                        return LookAtExperiment(selection, runs);
                      }});
  }
  return checks;
}

void RequireSpecForChanges(const SpecSelection& selection) {
  if (!selection.spec.empty() || selection.overrides.empty()) return;
  throw Error(ErrorKind::kUsage, "--set and --engine change an experiment, and none is named",
              "slipway doctor SPEC --set KEY=VALUE");
}

Json ToJson(const CheckResult& result) {
  return Json{{"check", result.name}, {"took_s", result.took.count()}, {"findings", ToJson(result.findings)}};
}

}  // namespace

int Doctor(const DoctorOptions& options, Session& session) {
  RequireSpecForChanges(options.selection);
  Findings all;
  Json list = Json::array();
  for (const auto& check : ChecksFor(options, session)) {
    session.output.Progress("looking at " + check.name);
    const auto result = Perform(check);
    list.push_back(ToJson(result));
    all.insert(all.end(), result.findings.begin(), result.findings.end());
  }
  session.output.Progress("");
  const auto worst = WorstOf(all);
  const Json document{{"schema", "slipway.doctor/1"}, {"worst", WordOf(worst)}, {"checks", list}};
  session.output.Print({document, Describe(all), WordOf(worst)});
  return worst == Grade::kFail ? 1 : 0;
}

}  // namespace slipway::launcher
