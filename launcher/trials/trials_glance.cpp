#include "launcher/trials/trials_glance.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

const RankedTrial* BestOf(const TrialsGlance& glance) {
  return !glance.trials.empty() && glance.trials.front().rank ? &glance.trials.front() : nullptr;
}

std::int64_t BudgetOf(const ensemble::StudyRecord& study) { return study.trials * study.repeats; }

}  // namespace

std::optional<TrialsGlance> GlanceAtTrials(const std::filesystem::path& run_folder) try {
  if (!std::filesystem::is_regular_file(run_folder / "trials.db")) return {};
  auto view = OpenTrials(run_folder);
  return TrialsGlance{std::move(view.study), std::move(view.trials)};
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kUsage && error.kind() != ErrorKind::kTryAgain) throw;
  return {};  // it has not begun
}

Json ToJson(const TrialsGlance& glance) {
  Json best = nullptr;
  if (const auto* trial = BestOf(glance)) {
    best = Json{{"trial", trial->trial.number},
                {"objective", OrNull(trial->value)},
                {"parameters", ensemble::ToJson(trial->trial.parameters)}};
  }
  return Json{{"budget", BudgetOf(glance.study)}, {"counts", CountsDocument(glance.trials)}, {"best", std::move(best)}};
}

std::string Describe(const TrialsGlance& glance) {
  std::string counts;
  const auto document = CountsDocument(glance.trials);
  for (const auto& [state, count] : document.items()) counts += fmt::format("{} {}, ", count.get<int>(), state);
  auto text = fmt::format("  trials  {}of {}", counts, BudgetOf(glance.study));
  if (const auto* best = BestOf(glance)) {
    text += fmt::format("\n  best    {} {}  trial {}  {}", glance.study.objectives.front().metric,
                        NumberCell(best->value), best->trial.number, ensemble::Describe(best->trial.parameters));
  }
  return text;
}

}  // namespace slipway::launcher
