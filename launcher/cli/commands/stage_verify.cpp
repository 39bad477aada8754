// `slipway stage verify`.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/event_loop.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "launcher/cli/commands/stage.h"
#include "launcher/cli/commands/stage_tiers.h"
#include "launcher/spec/load.h"
#include "staging/generation/generation.h"
#include "staging/generation/verify.h"

namespace slipway::launcher {
namespace {

struct TierVerdict {
  const Found& found;
  std::string problem = {};  ///< of the generation as a whole
  std::vector<staging::Damage> damage = {};
  bool gone = false;  ///< another process has removed it meanwhile: no damage

  bool good() const { return problem.empty() && damage.empty(); }
};

bool IsThere(const Found& found) { return Exists(found.generation.directory); }

class Verifier {
 public:
  explicit Verifier(Output& output) : output_(output), interrupt_(loop_) {}

  /// Holds the lease, so no process can evict the generation meanwhile. A generation without a lease file is not
  /// protected.
  TierVerdict Verify(const Found& found) try {
    if (!found.generation.damage.empty()) return {found, found.generation.damage};
    const staging::Generation generation(found.root, found.generation.name);
    const auto lease = FileLock::TryLook(generation.LeaseLock());
    if (!lease || !IsThere(found)) return {.found = found, .gone = true};
    Progress progress(output_, "verifying " + found.generation.name, found.generation.bytes);
    const auto show = [&](const staging::StageProgress& now) {
      CheckInterrupt();
      progress.Update(now.done, now.current);
    };
    return {found, {}, staging::VerifyGeneration(found.generation.directory, show).damage};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (!IsThere(found)) return {.found = found, .gone = true};
    return {found, error.message()};
  }

 private:
  void CheckInterrupt() {
    loop_.RunOnce(std::chrono::nanoseconds(0));
    if (interrupt_.asked()) throw Error(ErrorKind::kInterrupted, "the verification was interrupted");
  }

  Output& output_;
  EventLoop loop_;
  Interrupt interrupt_;
};

Json ToJson(const TierVerdict& verdict) {
  Json damage = Json::array();
  for (const auto& each : verdict.damage) {
    damage.push_back(
        {{"file", each.file}, {"offset", each.offset}, {"bytes", each.bytes.count}, {"reason", each.reason}});
  }
  return {{"generation", verdict.found.generation.name},
          {"tier", verdict.found.tier},
          {"directory", verdict.found.generation.directory.string()},
          {"ok", verdict.good()},
          {"gone", verdict.gone},
          {"problem", verdict.problem.empty() ? Json() : Json(verdict.problem)},
          {"bytes", verdict.found.generation.bytes.count},
          {"damage", std::move(damage)}};
}

std::string DescribeDamage(const staging::Damage& damage) {
  if (damage.bytes.count == 0) return fmt::format("  {}: {}\n", damage.file, damage.reason);
  return fmt::format("  {}: bytes {} to {}: {}\n", damage.file, damage.offset, damage.offset + damage.bytes.count,
                     damage.reason);
}

std::string Describe(const TierVerdict& verdict) {
  const auto& generation = verdict.found.generation;
  const auto head = fmt::format("{} in tier {}", generation.name, verdict.found.tier);
  if (verdict.gone) return head + ": another process removed it meanwhile\n";
  if (verdict.good()) {
    return fmt::format("{}: good, {} in {} files\n", head, FormatBytes(generation.bytes), generation.files);
  }
  auto text = fmt::format("{}: bad{}{}\n", head, verdict.problem.empty() ? "" : ": ", verdict.problem);
  for (const auto& each : verdict.damage) text += DescribeDamage(each);
  return text + fmt::format("  slipway stage evict {} removes it; the next run stages it again\n", generation.name);
}

}  // namespace

int StageVerify(const StageVerifyOptions& options, Session& session) {
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  const auto all = options.generations.empty() ? AllGenerations(tiers) : FindGenerations(options.generations, tiers);
  Verifier verifier(session.output);
  Json generations = Json::array();
  std::string text;
  std::string bad;
  for (const auto& found : all) {
    const auto verdict = verifier.Verify(found);
    generations.push_back(ToJson(verdict));
    text += Describe(verdict);
    if (!verdict.good()) bad += found.generation.name + "\n";
  }
  const Json document{
      {"schema", "slipway.stage_verify/1"}, {"ok", bad.empty()}, {"generations", std::move(generations)}};
  session.output.Print({document, text.empty() ? "nothing is staged\n" : text, bad});
  return bad.empty() ? 0 : static_cast<int>(ErrorKind::kFailed);
}

}  // namespace slipway::launcher
