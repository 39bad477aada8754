#include "launcher/view/view_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/checkpoint.h"
#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parse_utc.h"
#include "core/text.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/run_folder/run_tags.h"
#include "launcher/spec/secrets.h"
#include "launcher/view/file_stamp.h"
#include "launcher/view/read_curves.h"
#include "launcher/view/read_events.h"
#include "launcher/view/read_trials.h"
#include "launcher/view/run_facts.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLogLines = 20;
constexpr std::size_t kMostTrialsOfFailure = 20;
constexpr std::size_t kMostSpec = std::size_t{1} << 20;

}  // namespace

RunView ViewOf(const RunFolder& folder, const RunState& state) {
  RunView view;
  view.run = folder.id();
  view.folder = folder.path().string();
  view.name = state.name;
  view.ensemble = state.ensemble;
  view.phase = state.phase;
  view.created = UnixSecondsIn(state.created);
  view.started = UnixSecondsIn(state.started);
  view.ended = UnixSecondsIn(state.ended);
  view.attempt = state.attempt;
  view.reason = state.reason;
  view.cause = ToJson(state).value("cause", Json());
  return view;
}

namespace {

/// What follows from plan.json, as far as it can be read.
struct PlanFacts {
  NodeShare share;
  Json spec;  ///< as it was resolved; null
};

/// Of tags.json.
void TakeTags(const RunFolder& folder, RunView& view) try {
  auto tags = ReadRunTags(folder);
  view.tags = std::move(tags.tags);
  view.description = std::move(tags.description);
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

/// The user's number, or fewer where GPUs limit them.
std::optional<double> TrialsAtATimeIn(const Json& plan, const Json& ensemble) {
  std::optional<double> least;
  for (const auto& number : {ensemble.value("parallel", Json()), plan.value("trials_at_a_time", Json())}) {
    if (number.is_number()) least = std::min(least.value_or(number.get<double>()), number.get<double>());
  }
  return least;
}

/// How many trials a node has to hold; 1 for a single run.
double TrialsOfANode(const Json& plan) {
  const auto& ensemble = plan.at("spec").value("ensemble", Json());
  if (!ensemble.is_object() || ensemble.value("placement", "") == "job") return 1;
  const auto at_a_time = TrialsAtATimeIn(plan, ensemble);
  if (!at_a_time) return 1;
  const double shares = *at_a_time * ensemble.value("nodes_per_trial", 1.0);
  return std::max(1.0, std::ceil(shares / plan.at("spec").at("launch").at("nodes").get<double>()));
}

NodeShare ShareIn(const Json& plan) {
  const auto& launch = plan.at("spec").at("launch");
  const auto ranks = launch.at("ranks_per_node").get<double>() * TrialsOfANode(plan);
  const auto resilience = plan.at("spec").value("resilience", Json::object());
  const auto ensemble = plan.at("spec").value("ensemble", Json());
  NodeShare share;
  share.cores = ranks * launch.at("cpus_per_rank").get<double>();
  share.gpus = ranks * launch.at("gpus_per_rank").get<double>();
  if (plan.at("engine") == "slurm") share.spare_nodes = resilience.value("spare_nodes", 0);
  share.trials_are_jobs = ensemble.is_object() && ensemble.value("placement", "") == "job";
  return share;
}

PlanFacts TakePlan(const RunFolder& folder, RunView& view) try {
  const auto plan = Json::parse(ReadDocument(folder.plan_file()));
  view.engine = plan.at("engine").get<std::string>();
  view.ranks = PlannedRanks(plan);
  view.nodes = plan.at("spec").at("launch").at("nodes").get<int>();
  return {ShareIn(plan), plan.at("spec")};
} catch (const std::exception&) {
  view.warnings.emplace_back("plan.json could not be read: engine and nodes are unknown");
  return {};
}

/// The user's word beside what it stands for, which is all that the book has: "auto (portfolio)".
void TakeSampler(const Json& spec, RunView& view) {
  const auto ensemble = spec.is_object() ? spec.value("ensemble", Json()) : Json();
  const bool is_auto = ensemble.is_object() && ensemble.value("sampler", Json()) == "auto";
  if (is_auto && !view.sampler.empty()) view.sampler = fmt::format("auto ({})", view.sampler);
}

void TakeSpec(const RunFolder& folder, const Json& resolved, RunView& view) try {
  view.spec = WithoutSecretsOf(resolved, ReadDocument(folder.spec_file()));
  if (view.spec.size() > kMostSpec) view.spec.resize(kMostSpec);
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

/// As it stands: readers of an older or newer one take what they know.
void TakeProvenance(const RunFolder& folder, RunView& view) try {
  const auto text = ReadDocumentIfPresent(folder.provenance_file());
  if (text) view.provenance = Json::parse(*text);
} catch (const std::exception&) {
  view.warnings.emplace_back("provenance.json could not be read");
}

void TakeCheckpoints(const RunFolder& folder, RunView& view) {
  for (const auto& published : PublishedCheckpoints(folder.checkpoints())) {
    const auto path = published.directory / "manifest.json";
    if (!IsRegularFile(path)) continue;  // reading a pipe would wait
    const auto manifest = ReadCheckpointManifest(published.directory);
    if (!manifest) continue;
    CheckpointView shown{published.step, 0, manifest->info.seconds, ModifiedAt(StampOf(path))};
    for (const auto& file : manifest->files) shown.bytes += file.bytes;
    view.checkpoints.push_back(shown);
  }
  std::ranges::reverse(view.checkpoints);
}

void TakeEnds(const RunFolder& folder, RunView& view) {
  for (auto& attempt : view.attempts) {
    const auto ends = ReadEnds(folder.attempt(attempt.number), view.ranks);
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      if (ends[rank]) attempt.ranks.push_back({static_cast<int>(rank), ends[rank]->code, ends[rank]->signal});
    }
  }
}

StepsView StepsOfTeam(const Json& team) {
  StepsView steps{team.at("team").get<std::string>(), team.at("steps").get<std::uint64_t>(), {}};
  steps.way = team.value("way", std::string());
  steps.without_direct = team.value("without_direct", std::string());
  for (const auto& times : team.at("mean_of_a_step")) {
    const auto of = [&](const char* name) { return times.at(name).get<double>(); };
    steps.ranks.push_back({static_cast<int>(steps.ranks.size()), "", of("step_s"), of("compute_s"), of("wait_s"),
                           of("exchange_s"), of("input_s")});
  }
  return steps;
}

/// That of most bytes.
std::string WayOfCollectives(const Json& collectives) {
  std::map<std::string, double> bytes;
  for (const auto& group : collectives.at("groups")) {
    for (const auto& call : group.at("calls")) {
      bytes[call.at("way").get<std::string>()] += call.at("bytes").get<double>();
    }
  }
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& each) { return each.second; });
  return most != bytes.end() ? most->first : "";
}

StepsView StepsOfCollectives(const Json& collectives) {
  StepsView steps{"", 1, {}};
  steps.way = WayOfCollectives(collectives);
  for (const auto& times : collectives.at("times_of_ranks")) {
    const auto of = [&](const char* name) { return times.at(name).get<double>(); };
    const double compute = std::max(0.0, of("elapsed_s") - of("wait_s") - of("input_s"));
    steps.ranks.push_back({static_cast<int>(steps.ranks.size()), "", of("elapsed_s"), compute, of("wait_s"),
                           of("exchange_s"), of("input_s")});
  }
  return steps;
}

/// Of the first team of comm.json, else of collectives without a team.
void TakeSteps(const RunFolder& folder, RunView& view) try {
  const auto text = ReadDocumentIfPresent(folder.attempt(view.attempt) / "comm.json");
  if (!text) return;
  const auto document = Json::parse(*text);
  const auto& teams = document.at("teams");
  auto collectives = document.value("collectives", Json());
  auto allreduces = document.value("gpu_allreduce", Json());
  StepsView steps;
  if (!teams.empty()) {
    steps = StepsOfTeam(teams.at(0));
  } else if (!collectives.is_null()) {
    steps = StepsOfCollectives(collectives);
    for (const auto& group : allreduces) {
      if (steps.without_direct.empty()) steps.without_direct = group.value("without_direct", std::string());
    }
  } else {
    return;
  }
  steps.collectives = std::move(collectives);
  steps.gpu_allreduce = std::move(allreduces);
  view.steps = std::move(steps);
} catch (const std::exception&) {
  view.warnings.emplace_back("comm.json could not be read: the times of steps are unknown");
}

void TakeEnergy(const RunFolder& folder, RunView& view) try {
  view.accounting->energy = SumOf(ReadEnergyRecord(folder.energy_file()));
} catch (const std::exception&) {
  view.warnings.emplace_back("energy.json could not be read");
}

void TakeGpus(const RunFolder& folder, RunView& view) try {
  view.gpus = ReadGpuRecord(folder.gpus_file());
} catch (const std::exception&) {
  view.warnings.emplace_back("gpus.json could not be read");
}

FailureView FailureOf(const FailureGroup& group) {
  FailureView view{
      group.what, static_cast<int>(group.trials.size()),        group.trials, group.trials.front(), group.rank,
      group.host, LinesOf(ShownLastLines(group.log, kLogLines))};
  if (view.trials.size() > kMostTrialsOfFailure) view.trials.resize(kMostTrialsOfFailure);
  return view;
}

void TakeFailures(const RunFolder& folder, RunView& view) {
  const auto facts = GatherStoredFacts(folder);
  for (const auto& group : facts.failures) view.failures.push_back(FailureOf(group));
  if (view.ensemble || facts.log.lines.empty()) return;
  view.failures.push_back(
      {view.reason, 1, {}, {}, facts.culprit, "", LinesOf(ShownLastLines(facts.log.file, kLogLines))});
}

/// Of a single run: the step that its last attempt has come to.
void TakeProgressOfCurves(RunView& view) {
  std::optional<double> last_step;
  for (const auto& curve : view.curves) {
    if (curve.attempt != view.attempt || curve.step.empty()) continue;
    last_step = std::max(last_step.value_or(0), curve.step.back());
  }
  if (last_step) view.progress = WorkDone{*last_step, {}, "steps", {}};
}

}  // namespace

struct ViewReader::Memory {
  Memory(RunFolder run, BytesRead on_read) : folder(std::move(run)), curves(folder, std::move(on_read)) {}
  RunFolder folder;
  RunCurves curves;
};

ViewReader::ViewReader(RunFolder folder, BytesRead on_read)
    : memory_(std::make_unique<Memory>(std::move(folder), std::move(on_read))) {}
ViewReader::ViewReader(ViewReader&&) noexcept = default;
ViewReader::~ViewReader() = default;

RunView ViewReader::Read(Depth depth) { return Read(depth, memory_->folder.ReadState()); }

RunView ViewReader::Read(Depth depth, const RunState& state) {
  const auto& folder = memory_->folder;
  const double now = UnixSeconds(SystemClock().Now());
  auto view = ViewOf(folder, state);
  TakeTags(folder, view);
  const auto plan = TakePlan(folder, view);
  if (view.ensemble) AddTrials(folder, view, now, depth == Depth::kStates ? TrialPart::kStates : TrialPart::kWhole);
  if (view.ensemble) TakeSampler(plan.spec, view);
  AddEvents(folder, view);
  TakeGpus(folder, view);
  if (depth >= Depth::kAccounting && !view.ensemble) {
    TakeCheckpoints(folder, view);
    TakeSteps(folder, view);
  }
  if (depth >= Depth::kCurves && !view.ensemble) {
    memory_->curves.Poll(view.attempt);
    view.curves = memory_->curves.curves().Views();
    TakeProgressOfCurves(view);
  }
  if (depth >= Depth::kAnalysis) {
    TakeSpec(folder, plan.spec, view);
    view.resolved = WithoutSecrets(plan.spec);
    TakeProvenance(folder, view);
    TakeEnds(folder, view);
    if (view.ensemble) AddAnalysis(folder, view);
    TakeFailures(folder, view);
  }
  if (depth >= Depth::kAccounting) {
    view.accounting = AccountFor(view, plan.share, now);
    view.accounting->gpu_use = UseOf(view.gpus);
    TakeEnergy(folder, view);
  }
  return view;
}

}  // namespace slipway::launcher
