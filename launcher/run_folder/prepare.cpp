#include "launcher/run_folder/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/process.h"
#include "ensemble/store/trial_book.h"
#include "launcher/run_folder/record_provenance.h"
#include "launcher/run_folder/run_tags.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Discarded when it cannot be read as JSON.
Json StoredPlan(const RunFolder& folder) { return Json::parse(ReadDocument(folder.plan_file()), nullptr, false); }

/// A member of plan.json that plans of single trials and of older runs do not have.
constexpr auto kChanges = "changes";

std::string TextOf(const Json& plan) { return plan.dump(2) + "\n"; }

Json ToJson(const FieldChange& change) {
  return Json{{"key", change.key}, {"before", Json::parse(change.before)}, {"after", Json::parse(change.after)}};
}

PastChange PastChangeFrom(const Json& json) {
  return {json.at("time").get<std::string>(),
          {json.at("key").get<std::string>(), json.at("before").dump(), json.at("after").dump()}};
}

/// Errors: Error(kEnvironment).
Json SoundPlan(const RunFolder& folder) {
  auto stored = StoredPlan(folder);
  RequireVersion(stored, kPlanSchema, fmt::format("'{}'", folder.plan_file().string()));
  if (!stored.is_object() || !stored.contains("spec") || !stored.contains("spec_directory") ||
      !stored.contains("spec_hash")) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is damaged", folder.plan_file().string()),
                "start the experiment again with: slipway run SPEC");
  }
  return stored;
}

/// Another version of Slipway has other fields. What `engine: auto` meant then it means for the life of the run.
Spec SpecOf(const RunFolder& folder, const Json& stored) try {
  auto spec = BuildSpec(stored["spec"]);
  const bool slurm = stored.value("engine", "") == WordOf(EngineChoice::kSlurm);
  auto& engine = spec.launch.engine;
  if (engine == EngineChoice::kAuto) engine = slurm ? EngineChoice::kSlurm : EngineChoice::kLocal;
  return spec;
} catch (const Error& error) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' is not of this version of Slipway, or damaged: {}", folder.plan_file().string(),
                          error.message()),
              fmt::format("start the experiment again with: slipway run {}", folder.spec_file().string()));
}

/// Marks the run as not ended, before its plan changes. If this process is killed afterwards, the run reads as lost,
/// not as succeeded.
void Reopen(const RunFolder& folder) {
  auto state = folder.ReadState();
  state.phase = Phase::kCreated;
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  ForgetEnd(state);
  folder.WriteState(state);
}

}  // namespace

namespace {

void WriteDocuments(const RunFolder& folder, const Plan& plan) {
  const auto mode = HoldsSecrets(*plan.document.resolved) ? kPlanMode : kFileMode;
  WriteFile(folder.spec_file(), plan.document.source, mode);
  const RunTags tags{plan.spec().tags, plan.spec().description};
  if (!tags.tags.empty() || !tags.description.empty()) WriteRunTags(folder, tags);
  WriteFileDurably(folder.plan_file(), TextOf(ToJson(plan)), kPlanMode);
  folder.AppendEvent("created", Json{{"spec_hash", plan.document.spec_hash}});
}

}  // namespace

RunFolder PrepareRun(const Plan& plan) {
  auto folder = RunFolder::Create(plan.runs_directory, plan.spec().name, plan.spec().ensemble.has_value());
  try {
    WriteDocuments(folder, plan);
    RecordProvenance(folder, plan);
  } catch (const Error&) {  // an incomplete folder is of no use
    std::error_code left;
    fs::remove_all(folder.path(), left);
    throw;
  }
  return folder;
}

RunFolder PrepareForTrials(const Plan& plan) {
  auto folder = PrepareRun(plan);
  auto state = folder.ReadState();
  state.manager = {};
  state.reason = DescribeReady(folder.id());
  folder.WriteState(state);
  return folder;
}

RunState CancelReady(const RunFolder& folder) {
  const auto lock = folder.TakeManagerLock();
  auto state = folder.ReadState();
  if (!IsReady(state)) {
    throw Error(ErrorKind::kBusy, fmt::format("run {} has just begun", folder.id()), "cancel it once more");
  }
  EndAs(state, Phase::kCancelled, cause::Cancelled{CancelledWhile::kCreated});
  state.ended = FormatUtc(SystemClock().Now());
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(state.phase), Json{{"reason", state.reason}});
  return state;
}

SpecDocument StoredSpec(const RunFolder& folder) {
  const auto stored = SoundPlan(folder);
  SpecDocument document;
  document.spec = SpecOf(folder, stored);
  document.resolved = std::make_shared<const Json>(stored["spec"]);
  document.source = ReadDocument(folder.spec_file());
  document.file = folder.spec_file();
  document.directory = stored["spec_directory"].get<std::string>();
  document.spec_hash = stored["spec_hash"].get<std::string>();
  document.origins = stored.value("origins", std::map<std::string, std::string>());
  return document;
}

std::string RemarkOnBits(const RunFolder& folder, const Plan& plan) {
  const auto stored = StoredPlan(folder);
  const auto changes = ChangesOfBits(stored.is_object() ? stored.value("exchange", Json()) : Json(), plan.exchange);
  if (changes.empty()) return {};
  return fmt::format("the run goes on with other bits than it began with: {}", fmt::join(changes, "; "));
}

namespace {

/// A book that cannot be read may hold results.
bool HasResults(const RunFolder& folder) try {
  if (!fs::exists(folder.trial_book())) return false;
  const auto trials = ensemble::TrialBook::OpenForReading(folder.path()).Trials();
  return std::ranges::any_of(trials, HasResult, &ensemble::TrialRecord::state);
} catch (const Error&) {
  return true;
}

}  // namespace

bool HasResult(ensemble::TrialState state) {
  using enum ensemble::TrialState;
  return state != kQueued && state != kFailed && state != kCancelled;
}

RunKind KindOf(const RunFolder& folder, const Spec& spec) {
  if (!spec.ensemble) return RunKind::kSingle;
  return HasResults(folder) ? RunKind::kEnsemble : RunKind::kEnsembleWithoutResults;
}

Plan ReplanRun(const RunFolder& folder, const std::vector<std::string>& overrides) {
  auto document = StoredSpec(folder);
  if (!overrides.empty()) document = ChangeSpec(document, overrides, KindOf(folder, document.spec));
  return MakePlan(std::move(document), folder.path().parent_path());
}

void KeepChanges(const RunFolder& folder, const Plan& plan) {
  if (plan.document.changes.empty()) return;
  Reopen(folder);
  auto document = ToJson(plan);
  document["spec_file"] = StoredPlan(folder).value("spec_file", "");
  document[kChanges] = Json::array();
  for (const auto& past : PastChanges(folder)) document[kChanges].push_back(ToJson(past));
  Json news = Json::array();
  const auto time = FormatUtc(SystemClock().Now());
  for (const auto& change : plan.document.changes) {
    document[kChanges].push_back(ToJson(PastChange{time, change}));
    news.push_back(ToJson(change));
  }
  WriteFileDurably(folder.plan_file(), TextOf(document), kPlanMode);
  folder.AppendEvent("changed", Json{{"changes", std::move(news)}});
}

std::vector<PastChange> PastChanges(const RunFolder& folder) try {
  std::vector<PastChange> changes;
  const auto text = ReadDocumentIfPresent(folder.plan_file());
  if (!text) return changes;
  const auto plan = Json::parse(*text);
  for (const auto& change : plan.value(kChanges, Json::array())) changes.push_back(PastChangeFrom(change));
  return changes;
} catch (const std::exception&) {  // damaged, or its owner's to read
  return {};
}

Json ToJson(const PastChange& past) {
  Json json{{"time", past.time}};
  json.update(ToJson(past.change));
  return json;
}

}  // namespace slipway::launcher
