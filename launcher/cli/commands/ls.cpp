#include "launcher/cli/commands/ls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/nearest_word.h"
#include "core/shell.h"
#include "core/text.h"
#include "core/text_table.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/run_selection.h"
#include "launcher/cli/commands/runs.h"
#include "launcher/spec/tags.h"

namespace slipway::launcher {
namespace {

Json UnreadableDocument(const SelectedRun& run, const Error& trouble) {
  RunState unknown;
  unknown.run = run.folder.id();
  unknown.reason = trouble.message();
  auto document = ToJson(unknown);
  document.update(Json{{"schema", "slipway.status/1"},
                       {"folder", run.folder.path().string()},
                       {"phase", kUnreadable},
                       {"tags", run.tags.tags},
                       {"description", run.tags.description},
                       {"changes", Json::array()},
                       {"outcome", nullptr},
                       {"error", ErrorDocument(trouble)}});
  return document;
}

/// Other documents of the run may be unreadable, too.
Json StatusOf(const SelectedRun& run) try {
  return run.state ? StatusDocument(run.folder, *run.state) : UnreadableDocument(run, *run.trouble);
} catch (const Error& error) {
  return UnreadableDocument(run, error);
}

Json DocumentOf(const SelectedRun& run) {
  auto document = StatusOf(run);
  if (run.best) document["best"] = Json{{"metric", run.best->metric}, {"value", run.best->value}};
  return document;
}

/// A renamed folder does not tell the name of its experiment.
bool IsRenamed(const SelectedRun& run) {
  return run.state && !run.state->name.empty() && !run.folder.id().starts_with(run.state->name);
}

/// The columns that not every listing has.
struct Columns {
  explicit Columns(const std::vector<SelectedRun>& runs)
      : name(std::ranges::any_of(runs, IsRenamed)),
        tags(std::ranges::any_of(runs, [](const auto& run) { return !run.tags.tags.empty(); })),
        best(std::ranges::any_of(runs, [](const auto& run) { return run.best.has_value(); })) {}

  std::vector<std::string> Header() const {
    std::vector<std::string> header{"run"};
    if (name) header.emplace_back("name");
    header.insert(header.end(), {"phase", "attempt", "started", "ended"});
    if (best) header.emplace_back("best");
    if (tags) header.emplace_back("tags");
    header.emplace_back("reason");
    return header;
  }

  std::vector<std::string> CellsOf(const SelectedRun& run) const {
    const auto state = run.state.value_or(RunState());
    std::vector<std::string> cells{run.folder.id()};
    if (name) cells.push_back(state.name);
    const auto attempt = run.state ? std::to_string(state.attempt) : std::string();
    cells.insert(cells.end(), {std::string(PhaseWord(run)), attempt, state.started, state.ended});
    if (best) cells.push_back(run.best ? fmt::format("{} {:.6g}", run.best->metric, run.best->value) : "");
    if (tags) cells.push_back(fmt::format("{}", fmt::join(run.tags.tags, " ")));
    cells.push_back(run.trouble ? run.trouble->message() : state.reason);
    return cells;
  }

  bool name, tags, best;
};

std::string TableOf(const std::vector<SelectedRun>& runs, std::optional<int> width) {
  const Columns columns(runs);
  TextTable table(columns.Header());
  for (const auto& run : runs) table.AddRow(columns.CellsOf(run));
  table.CutToFit("reason", width);
  return table.Render();
}

/// As they were given: "--tag paper --state failed".
std::string FiltersText(const LsOptions& options) {
  std::vector<std::string> words;
  for (const auto& tag : options.tags) words.insert(words.end(), {"--tag", tag});
  const std::pair<const char*, const std::string*> filters[] = {
      {"--state", &options.states}, {"--name", &options.name}, {"--since", &options.since}};
  for (const auto& [option, value] : filters) {
    if (!value->empty()) words.insert(words.end(), {option, *value});
  }
  return QuoteForShell(words);
}

std::string TextOf(const Selection& selection, const LsOptions& options, const std::filesystem::path& directory,
                   std::optional<int> width) {
  if (selection.total == 0) return fmt::format("no runs in {}", directory.string());
  if (selection.runs.empty()) {
    return fmt::format("none of {} in {} fits {}\nall of them: slipway ls", Counted(selection.total, "run"),
                       directory.string(), FiltersText(options));
  }
  auto text = TableOf(selection.runs, width);
  if (selection.runs.size() < selection.fitting) {
    const bool is_filtered = selection.fitting < selection.total;
    const bool shows_newest = !is_filtered && options.sort == LsOptions().sort;
    text += fmt::format("{0} {1} of {2} runs{3}; all: --limit {2}\n", shows_newest ? "the newest" : "the last",
                        selection.runs.size(), selection.fitting, is_filtered ? " that fit" : "");
  }
  return text;
}

void Add(const std::string& word, RunTags& tags) {
  const auto tag = word.starts_with('+') ? word.substr(1) : word;
  if (!IsTag(tag)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is no tag: {}", tag, DescribeTag()), "choose another word");
  }
  if (!tags.Has(tag)) tags.tags.push_back(tag);
}

void Remove(const std::string& tag, const RunFolder& run, RunTags& tags) {
  if (std::erase(tags.tags, tag) > 0) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("run {} has no tag '{}'{}", run.id(), tag, tags.tags.empty() ? "" : SuggestWord(tag, tags.tags)),
      fmt::format("see its tags: slipway tag {}", run.selector()));
}

void Change(const TagOptions& options, const RunFolder& run, RunTags& tags) {
  for (const auto& tag : options.removed) Remove(tag, run, tags);
  for (const auto& word : options.added) Add(word, tags);
  if (tags.tags.size() > kMostTags) {
    throw Error(ErrorKind::kUsage, fmt::format("a run has at most {} tags", kMostTags), "remove one: --remove TAG");
  }
  if (!options.description) return;
  const auto why = WhyNoDescription(*options.description);
  if (!why.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{}", why), "give a shorter text: --description TEXT");
  }
  tags.description = *options.description;
}

RunTags TagsAfter(const TagOptions& options, const RunFolder& run) {
  const bool changes = !options.added.empty() || !options.removed.empty() || options.description;
  if (!changes) return ReadRunTags(run);
  return ChangeRunTags(run, [&](RunTags& tags) { Change(options, run, tags); });
}

}  // namespace

int Ls(const LsOptions& options, Session& session) {
  const auto mode = session.output.mode();
  auto selection = SelectRuns(options, session.runs(), UnixSeconds(SystemClock().Now()));
  for (const auto& remark : selection.remarks) session.output.Say(remark);
  Json list = Json::array();
  std::string brief;
  for (auto& run : selection.runs) {
    if (mode == OutputMode::kJson) list.push_back(DocumentOf(run));
    brief += run.folder.id() + "\n";
  }
  const Json document{{"schema", "slipway.runs/1"},
                      {"runs_directory", session.runs_directory.string()},
                      {"total", selection.total},
                      {"fitting", selection.fitting},
                      {"runs", list}};
  const auto text =
      mode == OutputMode::kHuman ? TextOf(selection, options, session.runs_directory, session.output.Columns()) : "";
  session.output.Print({document, text, brief});
  return 0;
}

int Tag(const TagOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  const auto tags = TagsAfter(options, run);
  auto document = WriteFields(kTagsSchema, tags);
  document["run"] = run.id();
  const auto list = fmt::format("{}", fmt::join(tags.tags, " "));
  auto text = fmt::format("{}\n  tags    {}", run.id(), list.empty() ? "none" : list);
  if (!tags.description.empty()) text += "\n  about   " + tags.description;
  session.output.Print({document, text, list});
  return 0;
}

}  // namespace slipway::launcher
