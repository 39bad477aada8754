#include "launcher/spec/choose_engine.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/cluster/slurm_conf.h"

namespace slipway::launcher {
namespace {

constexpr char kEngineVariable[] = "SLIPWAY_ENGINE";

/// Nothing when it is empty.
std::optional<EngineChoice> Wanted(const std::string& wanted) {
  if (wanted.empty()) return {};
  if (const auto engine = FromWord<EngineChoice>(wanted)) {
    return *engine == EngineChoice::kAuto ? std::nullopt : engine;
  }
  throw Error(ErrorKind::kUsage, fmt::format("{} is '{}', which is no engine", kEngineVariable, wanted),
              fmt::format("set {} to local, slurm or auto, or unset it", kEngineVariable));
}

}  // namespace

EngineFacts LookForEngines(const Environment& environment, const std::filesystem::path& root) {
  return {environment.Get(kEngineVariable).value_or(""), environment.Get("SLURM_JOB_ID").value_or(""),
          FindSlurmConf(environment, root)};
}

ChosenEngine ChooseEngine(EngineChoice asked, const EngineFacts& facts) {
  if (asked != EngineChoice::kAuto) return {asked, ""};
  if (const auto engine = Wanted(facts.wanted)) return {*engine, fmt::format("{}={}", kEngineVariable, facts.wanted)};
  if (!facts.allocation.empty()) {
    return {EngineChoice::kSlurm, fmt::format("SLURM_JOB_ID: in the allocation of job {}", facts.allocation)};
  }
  if (facts.slurm_conf) return {EngineChoice::kSlurm, fmt::format("there is a {}", facts.slurm_conf->string())};
  return {EngineChoice::kLocal, "no allocation and no slurm.conf here"};
}

bool NeedsJob(const Spec& spec) {
  return TrialsAreJobs(spec) || LookForEngines(Environment::Inherited()).allocation.empty();
}

}  // namespace slipway::launcher
