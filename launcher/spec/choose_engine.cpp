#include "launcher/spec/choose_engine.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/cluster/slurm_conf.h"

namespace slipway::launcher {
namespace {

constexpr char kWish[] = "SLIPWAY_ENGINE";

/// Nothing when there is no wish.
std::optional<EngineChoice> WishedFor(const std::string& wish) {
  if (wish.empty()) return {};
  if (const auto engine = FromWord<EngineChoice>(wish)) {
    return *engine == EngineChoice::kAuto ? std::nullopt : engine;
  }
  throw Error(ErrorKind::kUsage, fmt::format("{} is '{}', which is no engine", kWish, wish),
              fmt::format("set {} to local, slurm or auto, or unset it", kWish));
}

}  // namespace

EngineFacts LookForEngines(const Environment& environment, const std::filesystem::path& root) {
  return {environment.Get(kWish).value_or(""), environment.Get("SLURM_JOB_ID").value_or(""),
          FindSlurmConf(environment, root)};
}

ChosenEngine ChooseEngine(EngineChoice asked, const EngineFacts& facts) {
  if (asked != EngineChoice::kAuto) return {asked, ""};
  if (const auto wished = WishedFor(facts.wish)) return {*wished, fmt::format("{}={}", kWish, facts.wish)};
  if (!facts.allocation.empty()) {
    return {EngineChoice::kSlurm, fmt::format("SLURM_JOB_ID: in the allocation of job {}", facts.allocation)};
  }
  if (facts.slurm_conf) return {EngineChoice::kSlurm, fmt::format("there is a {}", facts.slurm_conf->string())};
  return {EngineChoice::kLocal, "no allocation and no slurm.conf here"};
}

}  // namespace slipway::launcher
