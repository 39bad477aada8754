#include "launcher/run/prepare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/spec/choose_engine.h"

namespace slipway::launcher {
namespace {

/// Discarded when it cannot be read as JSON.
Json StoredPlan(const RunFolder& folder) { return Json::parse(ReadFile(folder.plan_file()), nullptr, false); }

/// Errors: Error(kEnvironment).
Json SoundPlan(const RunFolder& folder) {
  auto stored = StoredPlan(folder);
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
  const bool slurm = stored.value("engine", "") == NameOf(EngineChoice::kSlurm);
  auto& engine = spec.launch.engine;
  if (engine == EngineChoice::kAuto) engine = slurm ? EngineChoice::kSlurm : EngineChoice::kLocal;
  return spec;
} catch (const Error& error) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' is not of this version of Slipway, or damaged: {}", folder.plan_file().string(),
                          error.message()),
              fmt::format("start the experiment again with: slipway run {}", folder.spec_file().string()));
}

}  // namespace

RunFolder PrepareRun(const Plan& plan) {
  const auto folder = RunFolder::Create(plan.runs_directory, plan.spec().name, plan.spec().ensemble.has_value());
  WriteFile(folder.spec_file(), plan.document.source);
  WriteFileDurably(folder.plan_file(), ToJson(plan).dump(2) + "\n");
  folder.AppendEvent("created", Json{{"spec_hash", plan.document.spec_hash}});
  return folder;
}

std::string RemarkOnBits(const RunFolder& folder, const Plan& plan) {
  const auto stored = StoredPlan(folder);
  const auto changes = ChangesOfBits(stored.is_object() ? stored.value("exchange", Json()) : Json(), plan.exchange);
  if (changes.empty()) return {};
  return fmt::format("the run goes on with other bits than it began with: {}", fmt::join(changes, "; "));
}

SpecDocument StoredSpec(const RunFolder& folder) {
  const auto stored = SoundPlan(folder);
  SpecDocument document;
  document.spec = SpecOf(folder, stored);
  document.resolved = std::make_shared<const Json>(stored["spec"]);
  document.source = ReadFile(folder.spec_file());
  document.file = folder.spec_file();
  document.directory = stored["spec_directory"].get<std::string>();
  document.spec_hash = stored["spec_hash"].get<std::string>();
  return document;
}

Plan ReplanRun(const RunFolder& folder) { return MakePlan(StoredSpec(folder), folder.path().parent_path()); }

}  // namespace slipway::launcher
