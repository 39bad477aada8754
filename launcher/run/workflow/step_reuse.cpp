#include "launcher/run/workflow/step_reuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostChangesNamed = 3;
constexpr auto kShortLook = std::chrono::milliseconds(50);
constexpr int kLookCountsFor = 20;  ///< times as long as it took

}  // namespace

StepReuse::StepReuse(const Workflow& workflow, ResultStore& store, const std::vector<std::string>& forced,
                     const std::map<std::string, std::string>& made, Clock& clock)
    : workflow_(workflow),
      store_(store),
      forced_(forced),
      made_(made),
      clock_(clock),
      code_(workflow),
      decisions_(workflow.steps.size()) {}

bool StepReuse::IsForced(const Step& step) const {
  return std::ranges::any_of(forced_, [&](const auto& name) { return name == step.name || name == step.group; });
}

const StepDecision& StepReuse::Decide(StepIndex index) {
  const auto& step = workflow_.steps[index];
  StepDecision decision;
  const KeySources sources{[this](StepIndex need) { return of(need).id; },
                           [this](StepIndex program) -> const CodeState& { return code_.Of(program); }};
  // First: a change between the stamp and the look at the content is seen later, as a change.
  for (const auto& file : FilesInKey(workflow_, step)) decision.stamps[file.string()] = files_.StampOf(file);
  decision.parts = KeyPartsOf(workflow_, index, sources, files_);
  decision.key = KeyOf(decision.parts);
  const auto newest = store_.Hold(decision.key);
  const auto damage = newest ? store_.WhyDamaged(*newest) : std::string();
  const auto made = made_.find(step.name);
  decision.own = newest && made != made_.end() && made->second == *newest;
  if (newest && damage.empty() && (decision.own || !IsForced(step))) {
    decision.reuse = true;
    decision.id = *newest;
  } else {
    decision.id = store_.NextId(decision.key);
    const auto why = newest ? (damage.empty() ? "forced" : damage) : WhyAgain(step, decision);
    decision.is_first = !why;
    decision.why = why.value_or("it has not run yet");
  }
  return decisions_[index].emplace(std::move(decision));
}

const std::string& StepReuse::LookAt(const std::filesystem::path& path) {
  const auto began = clock_.Steady();
  auto& look = looks_[path.string()];
  if (began < look.counts_until) return look.stamp;
  auto [stamp, changed] = LookAtTree(path);
  look.stamp = std::move(stamp);
  const auto ended = clock_.Steady();
  const auto period = kLookCountsFor * (ended - began);
  const bool counts = ended - began >= kShortLook && changed && *changed < clock_.Now() - period;
  look.counts_until = counts ? ended + period : ended;
  return look.stamp;
}

bool StepReuse::DecideAgainIfChanged(StepIndex index) {
  const auto files = FilesInKey(workflow_, workflow_.steps[index]);
  std::map<std::string, std::string> now;
  for (const auto& file : files) now[file.string()] = LookAt(file);
  if (now == of(index).stamps) return false;
  // Another step may have looked again already.
  const auto changed = std::ranges::count_if(files, [this](const auto& file) { return files_.Refresh(file); });
  if (changed > 0) code_.Forget();
  Decide(index);
  return true;
}

std::optional<std::string> StepReuse::WhyAgain(const Step& step, const StepDecision& decision) const try {
  const auto last = store_.LastOf(workflow_.name, step.name);
  if (!last && !store_.HasHad(workflow_.name, step.name)) return {};
  if (!last) return "its last result was removed";
  auto changes = WhatChanged(store_.Read(*last).parts, decision.parts);
  const auto more = changes.size() > kMostChangesNamed ? changes.size() - kMostChangesNamed : 0;
  changes.resize(changes.size() - more);
  return fmt::format("{}{}", fmt::join(changes, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
} catch (const Error& error) {
  return error.message();
}

}  // namespace slipway::launcher
