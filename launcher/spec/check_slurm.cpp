#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/cluster/directive_text.h"
#include "launcher/spec/burst_buffer_spec.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/choose_engine.h"

namespace slipway::launcher {
namespace {

void CheckTexts(Report& report, const Draft& draft) {
  constexpr std::array<std::string_view, 6> kTexts = {"partition", "account",     "constraint",
                                                      "qos",       "reservation", "licenses"};
  for (const auto name : kTexts) {
    const auto path = fmt::format("launch.slurm.{}", name);
    if (!draft.Has(path)) continue;
    const auto reason = WhyNotInDirective(draft.At(path).get<std::string>());
    if (!reason.empty()) report.Error(draft.PlaceOf(path), path + " cannot stand in a batch script: " + reason);
  }
}

void CheckExtra(Report& report, const Draft& draft) {
  const Json& extra = draft.At("launch.slurm.extra");
  if (!extra.is_array()) return;
  for (std::size_t i = 0; i < extra.size(); ++i) {
    const auto reason = WhyNotAnOption(extra[i].get<std::string>());
    if (!reason.empty()) report.Error(draft.PlaceOf(fmt::format("launch.slurm.extra[{}]", i)), reason);
  }
}

/// What the directives cannot hold, found with a buffer of the least size: how large it will be is not known yet.
void CheckBuffer(Report& report, const Draft& draft) {
  const std::string path = "launch.slurm.burst_buffer";
  const bool wrong = std::any_of(draft.failed.begin(), draft.failed.end(),
                                 [&](const std::string& failed) { return failed.starts_with(path); });
  if (wrong || !draft.At(path).is_object()) return;
  const auto buffer = BuildBurstBuffer(draft.At(path));
  try {
    BurstBufferDirectives(BufferOf(buffer, Bytes{1}));
  } catch (const Error& error) {
    report.Error(draft.PlaceOf(path), error.message() + (error.next_step().empty() ? "" : "; " + error.next_step()));
  }
  if (buffer.persistent.empty() && buffer.action != PersistentAction::kUse) {
    report.Error(draft.PlaceOf(path + ".action"), "only a persistent burst buffer is created or destroyed: name it");
  }
}

bool IsForSlurm(const Draft& draft) {
  const auto& engine = draft.At("launch.engine");
  if (engine != "auto") return engine == "slurm";
  return ChooseEngine(EngineChoice::kAuto, LookForEngines(Environment::Inherited())).engine == EngineChoice::kSlurm;
}

void WarnOfOtherEngine(Report& report, const Draft& draft) {
  if (draft.slurm_only.empty() || IsForSlurm(draft)) return;
  for (const auto& [path, place] : draft.slurm_only) report.Warn(place, path + " is acted on with engine: slurm only");
}

}  // namespace

void CheckSlurm(Report& report, const Draft& draft) {
  CheckTexts(report, draft);
  CheckExtra(report, draft);
  CheckBuffer(report, draft);
  WarnOfOtherEngine(report, draft);
}

}  // namespace slipway::launcher
