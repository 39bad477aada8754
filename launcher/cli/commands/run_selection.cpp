#include "launcher/cli/commands/run_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "core/lines.h"
#include "core/nearest_word.h"
#include "core/parse_utc.h"
#include "core/units.h"
#include "core/words.h"
#include "launcher/run/workflow/run_looks.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostNamedMetrics = 10;

enum class SortBy { kCreated, kStarted, kName, kState, kBest };

WordTable<SortBy> WordsOf(SortBy) {
  static constexpr Word<SortBy> kWords[] = {{SortBy::kCreated, "created"},
                                            {SortBy::kStarted, "started"},
                                            {SortBy::kName, "name"},
                                            {SortBy::kState, "state"},
                                            {SortBy::kBest, "best"}};
  return kWords;
}

[[noreturn]] void RefuseWord(const char* option, std::string_view word, const std::vector<std::string>& valid) {
  throw Error(ErrorKind::kUsage, fmt::format("--{}: there is no '{}'{}", option, word, SuggestWord(word, valid)));
}

std::vector<std::string> StateWords() {
  std::vector<std::string> words;
  for (const auto phase : {Phase::kCreated, Phase::kQueued, Phase::kStaging, Phase::kRunning, Phase::kSucceeded,
                           Phase::kFailed, Phase::kCancelled, Phase::kLost}) {
    words.emplace_back(PhaseName(phase));
  }
  words.emplace_back(kUnreadable);
  return words;
}

std::set<std::string> StatesIn(std::string_view list) {
  const auto valid = StateWords();
  std::set<std::string> states;
  LineWords words(list);
  while (!words.rest().empty()) {
    const auto word = words.Word(',');
    if (std::ranges::find(valid, word) == valid.end()) RefuseWord("state", word, valid);
    states.emplace(word);
  }
  return states;
}

SortBy SortIn(const std::string& word) {
  if (const auto known = FromWord<SortBy>(word)) return *known;
  RefuseWord("sort", word, AllWords<SortBy>());
}

/// Seconds since 1970.
double TimeSince(const std::string& text, double now) {
  if (const auto duration = ParseDuration(text)) return now - duration->count();
  for (const auto* rest : {"", "T00:00:00Z", "T00:00:00.000Z"}) {
    if (const auto time = UnixSecondsIn(text + rest)) return *time;
  }
  throw Error(ErrorKind::kUsage, fmt::format("--since: '{}' is neither a duration nor a date", text),
              "write it like 12h, 30d or 2026-11-25 (UTC)");
}

bool FitsName(const std::string& pattern, const std::string& id, const std::string& name) {
  if (pattern.find_first_of("*?[") == std::string::npos)
    return id.find(pattern) != std::string::npos || name == pattern;
  return ::fnmatch(pattern.c_str(), id.c_str(), 0) == 0 || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

class Selector {
 public:
  Selector(const LsOptions& options, double now)
      : options_(options), states_(StatesIn(options.states)), sort_(SortIn(options.sort)) {
    if (!options.since.empty()) since_ = TimeSince(options.since, now);
  }

  Selection Select(const RunsDirectory& directory) {
    auto folders = ListRuns(directory);
    Selection selection;
    selection.total = folders.size();
    const bool takes_all = states_.empty() && options_.tags.empty() && options_.name.empty() && !since_;
    if (takes_all && sort_ == SortBy::kCreated) {
      selection.fitting = folders.size();
      KeepLast(folders);
    }
    for (auto& row : ObserveAllRows(folders)) Take(std::move(row), selection.runs);
    for (const auto& remark : {RemarkOnTags(selection.total), RemarkOnMetrics(selection.runs)}) {
      if (!remark.empty()) selection.remarks.push_back(remark);
    }
    Order(selection.runs);
    selection.fitting = std::max(selection.fitting, selection.runs.size());
    KeepLast(selection.runs);
    if (options_.reverse) std::ranges::reverse(selection.runs);
    return selection;
  }

 private:
  template <class List>
  void KeepLast(List& list) const {
    const auto most = static_cast<std::size_t>(options_.limit);
    if (list.size() > most) list.erase(list.begin(), list.end() - options_.limit);
  }

  void Take(RunRow row, std::vector<SelectedRun>& runs) {
    auto tags = RunTagsOrNone(row.folder);
    SelectedRun run{std::move(row), std::move(tags)};
    seen_tags_.insert(run.tags.tags.begin(), run.tags.tags.end());
    if (!std::ranges::all_of(options_.tags, [&](const auto& tag) { return run.tags.Has(tag); })) return;
    if (!FitsState(run) || !FitsNameAndTime(run)) return;
    if (sort_ == SortBy::kBest && run.state) run.best = BestOf(run.folder, *run.state, options_.metric);
    runs.push_back(std::move(run));
  }

  bool FitsState(const SelectedRun& run) const {
    return states_.empty() || states_.contains(std::string(PhaseWord(run)));
  }

  bool FitsNameAndTime(const SelectedRun& run) const {
    const auto name = run.state ? run.state->name : std::string();
    if (!options_.name.empty() && !FitsName(options_.name, run.folder.id(), name)) return false;
    if (!since_) return true;
    const auto created = run.state ? UnixSecondsIn(run.state->created) : std::nullopt;
    return created && *created >= *since_;
  }

  void Order(std::vector<SelectedRun>& runs) const {
    static const RunState kUnknown;
    const auto by = [&](const auto& key) {
      std::ranges::stable_sort(runs, {},
                               [&](const SelectedRun& run) { return key(run.state ? *run.state : kUnknown); });
    };
    switch (sort_) {
      case SortBy::kCreated: return;  // as they are listed
      case SortBy::kStarted: return by([](const RunState& state) { return state.started; });
      case SortBy::kName: return by([](const RunState& state) { return state.name; });
      case SortBy::kState: return by([](const RunState& state) { return state.phase; });
      case SortBy::kBest: std::ranges::stable_sort(runs, IsWorse);
    }
  }

  /// Without a value first; then those of one metric together, the best of each last. NaN is the worst.
  static bool IsWorse(const SelectedRun& left, const SelectedRun& right) {
    if (!left.best || !right.best) return !left.best && right.best;
    if (left.best->metric != right.best->metric) return left.best->metric < right.best->metric;
    const auto goodness = [](const BestValue& best) {
      if (std::isnan(best.value)) return -std::numeric_limits<double>::infinity();
      return best.goal == ensemble::Goal::kMaximize ? best.value : -best.value;
    };
    return goodness(*left.best) < goodness(*right.best);
  }

  std::string RemarkOnTags(std::size_t runs) const {
    if (runs == 0) return {};
    for (const auto& tag : options_.tags) {
      if (seen_tags_.contains(tag)) continue;
      const std::vector<std::string> known(seen_tags_.begin(), seen_tags_.end());
      const auto why = fmt::format("no run has the tag '{}'", tag);
      return known.empty() ? why + ", nor any other; add one with: slipway tag RUN +TAG"
                           : why + SuggestWord(tag, known);
    }
    return {};
  }

  /// On single runs that have metrics, but not the one that orders them.
  std::string RemarkOnMetrics(const std::vector<SelectedRun>& runs) const {
    if (sort_ != SortBy::kBest) return {};
    std::size_t count = 0;
    std::set<std::string> names;
    for (const auto& run : runs) {
      if (!run.state || run.state->ensemble || run.best || run.state->metrics.empty()) continue;
      ++count;
      for (const auto& [name, value] : run.state->metrics) names.insert(name);
    }
    if (count == 0) return {};
    const auto more = names.size() > kMostNamedMetrics ? ", ..." : "";
    while (names.size() > kMostNamedMetrics) names.erase(std::prev(names.end()));
    return fmt::format("{} no metric '{}'; choose one with --metric NAME: {}{}",
                       count == 1 ? "1 run has" : fmt::format("{} runs have", count),
                       options_.metric.empty() ? "loss" : options_.metric, fmt::join(names, ", "), more);
  }

  const LsOptions& options_;
  std::set<std::string> states_;
  SortBy sort_;
  std::optional<double> since_;
  std::set<std::string> seen_tags_;
};

}  // namespace

Selection SelectRuns(const LsOptions& options, const RunsDirectory& directory, double now) {
  return Selector(options, now).Select(directory);
}

}  // namespace slipway::launcher
