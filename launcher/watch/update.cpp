#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/terminal_columns.h"
#include "launcher/run_folder/run_state.h"
#include "launcher/watch/model.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kChromeRows = 6;  // title, tabs, headings, keys: what is not a row of a list
constexpr std::size_t kLongestFilter = 200;

bool IsOfTrial(const Model& model) {
  return model.page == Page::kTrials || model.page == Page::kPlaces || model.page == Page::kTrial;
}

bool IsEnsemble(const Model& model) { return model.data->run && model.data->run->ensemble; }

std::optional<std::size_t> SelectedRow(const Model& model) {
  const auto& list = model.list();
  if (!IsList(model.page) || list.cursor >= list.order.size()) return {};
  return list.order[list.cursor];
}

/// The trial that keys are about.
std::optional<ensemble::TrialNumber> TrialInHand(const Model& model) {
  if (model.page == Page::kTrial || model.page == Page::kLog) return model.trial;
  const auto row = SelectedRow(model);
  if (!row || !IsOfTrial(model)) return {};
  return model.data->run->trials->number[*row];
}

void Reorder(Model& model) {
  if (!IsList(model.page)) return;
  auto& list = model.list();
  list.order = OrderOf(*model.data, model.page, list);
  const auto found = std::ranges::find_if(
      list.order, [&](std::size_t row) { return KeyOf(*model.data, model.page, row) == list.selected; });
  if (!list.selected.empty() && found != list.order.end()) {
    list.cursor = static_cast<std::size_t>(found - list.order.begin());
  } else {
    list.cursor = std::min(list.cursor, list.order.empty() ? 0 : list.order.size() - 1);
  }
}

void Show(Model& model, Page page) {
  model.page = page;
  model.log_lines_below = 0;
  Reorder(model);
}

void Open(Model& model, Page page) {
  model.back.push_back(model.page);
  Show(model, page);
}

void GoBack(Model& model) {
  if (model.back.empty()) return;
  const auto page = model.back.back();
  model.back.pop_back();
  if (model.page == Page::kLog && page != Page::kTrial) model.trial.reset();
  if (model.page == Page::kLog) model.step.clear();
  Show(model, page);
}

/// Forgets the one before.
void OpenRunIn(Model& model, const std::filesystem::path& folder) {
  if (folder != model.run) {
    auto data = std::make_shared<WatchData>();
    data->read_at = model.data->read_at;
    data->runs = model.data->runs;
    data->workflow = model.data->workflow;
    model.data = std::move(data);
    model.run = folder;
    model.trial.reset();
    model.rank = 0;
    for (auto page = static_cast<std::size_t>(Page::kOverview); page < kPages; ++page) {
      model.lists[page].selected.clear();
      model.lists[page].cursor = 0;
    }
  }
  Open(model, Page::kOverview);
}

void OpenRun(Model& model) {
  const auto row = SelectedRow(model);
  if (!row) return;
  const auto run = model.data->runs[*row];
  if (!run.workflow) return OpenRunIn(model, run.folder);
  model.workflow = run.folder;
  Open(model, Page::kSteps);
}

void OpenStepLog(Model& model) {
  const auto row = SelectedRow(model);
  if (!row) return;
  model.step = model.data->workflow->steps[*row].name;
  Open(model, Page::kLog);
}

void OpenStep(Model& model) {
  const auto row = SelectedRow(model);
  if (!row) return;
  const auto run = model.data->workflow->steps[*row].run;
  if (run.empty()) return OpenStepLog(model);
  OpenRunIn(model, run);
}

void OpenLog(Model& model) {
  if (model.page == Page::kSteps) return OpenStepLog(model);
  if (model.page == Page::kLog) return;
  if (IsEnsemble(model) || model.trial) {
    const auto trial = TrialInHand(model);
    if (!trial) {
      model.notice = "choose a trial first: 2, then l";
      return;
    }
    model.trial = trial;
  }
  if (!IsEnsemble(model) && !model.data->run) return;
  Open(model, Page::kLog);
}

void OpenSelected(Model& model) {
  if (model.page == Page::kRuns) return OpenRun(model);
  if (model.page == Page::kSteps) return OpenStep(model);
  if (model.page == Page::kTrial) return OpenLog(model);
  if (model.page == Page::kOverview && model.data->run) {
    return Show(model, IsEnsemble(model) ? Page::kTrials : Page::kCurves);
  }
  if (model.page == Page::kRanks && SelectedRow(model)) {
    model.rank = model.data->ranks[*SelectedRow(model)].rank;
    return Open(model, Page::kLog);
  }
  if (const auto trial = IsOfTrial(model) ? TrialInHand(model) : std::nullopt) {
    model.trial = trial;
    model.rank = 0;
    Open(model, Page::kTrial);
  }
}

void MoveCursor(Model& model, int by) {
  if (model.page == Page::kLog) {
    model.log_lines_below = std::clamp(model.log_lines_below - by, 0, static_cast<int>(model.data->log.lines.size()));
    return;
  }
  if (!IsList(model.page) || model.list().order.empty()) return;
  auto& list = model.list();
  const auto last = static_cast<int>(list.order.size()) - 1;
  list.cursor = static_cast<std::size_t>(std::clamp(static_cast<int>(list.cursor) + by, 0, last));
  list.selected = KeyOf(*model.data, model.page, list.order[list.cursor]);
}

void ChangeRank(Model& model, int by) {
  if (model.page != Page::kLog || !model.data->run) return;
  model.rank = std::clamp(model.rank + by, 0, std::max(0, model.data->run->ranks - 1));
  model.log_lines_below = 0;
}

void CyclePage(Model& model, int by) {
  const auto pages = PagesOf(model);
  if (pages.empty()) return;
  const auto at = std::ranges::find(pages, model.page);
  const auto count = static_cast<int>(pages.size());
  const int index = at == pages.end() ? 0 : static_cast<int>(at - pages.begin()) + by;
  Show(model, pages[static_cast<std::size_t>((index + count) % count)]);
}

struct RunInHand {
  std::filesystem::path folder;
  std::string id;
  std::string state;
  bool ended = false;
};

RunInHand InHand(const std::filesystem::path& folder, const std::string& id, Phase phase) {
  return {folder, id, std::string(PhaseName(phase)), HasEnded(phase)};
}

/// The run that `c` is about; the steps of a page belong to that of their workflow.
std::optional<RunInHand> RunToCancel(const Model& model) {
  const auto& data = *model.data;
  if (model.page == Page::kRuns) {
    const auto row = SelectedRow(model);
    if (!row) return {};
    const auto& run = data.runs[*row];
    return RunInHand{run.folder, run.id, run.state, run.ended};
  }
  if (model.page == Page::kSteps) {
    if (!data.workflow) return {};
    return InHand(model.workflow, data.workflow->id, data.workflow->phase);
  }
  if (!data.run) return {};
  return InHand(model.run, data.run->run, data.run->phase);
}

void AskToCancel(Model& model) {
  const auto run = RunToCancel(model);
  if (!run) return;
  if (run->ended) {
    model.notice = fmt::format("{} has ended already: {}", run->id, run->state);
  } else {
    model.question = Action{Action::Kind::kCancel, run->folder, {}};
  }
}

std::optional<std::string> StateOfTrial(const Model& model, ensemble::TrialNumber number) {
  const auto& trials = model.data->run ? model.data->run->trials : std::nullopt;
  const auto row = static_cast<std::size_t>(number);
  if (!trials || row >= trials->number.size()) return {};
  return trials->state[row];
}

void AskToRetry(Model& model) {
  if (model.page == Page::kSteps && model.data->workflow) {
    model.notice = fmt::format("a workflow goes on with: slipway resume {}", model.data->workflow->selector);
    return;
  }
  if (model.page == Page::kRuns || !model.data->run) return;
  if (!IsEnsemble(model)) {
    model.notice = fmt::format("a single run goes on with: slipway resume {}", model.data->selector);
    return;
  }
  const auto trial = TrialInHand(model);
  const auto word = trial ? StateOfTrial(model, *trial) : std::nullopt;
  const auto state = word ? FromWord<ensemble::TrialState>(*word) : std::nullopt;
  if (!state) {
    model.notice = "choose a trial first: 2, then t";
  } else if (*state == ensemble::TrialState::kLost) {
    model.notice = fmt::format("a lost trial goes on with: slipway resume {}", model.data->selector);
  } else if (!ensemble::MayBeRetried(*state)) {
    model.notice = fmt::format("trial {} is {}: only failed, pruned and cancelled trials can run again", *trial, *word);
  } else {
    model.question = Action{Action::Kind::kRetry, model.run, trial};
  }
}

void NextSort(Model& model) {
  const auto count = static_cast<int>(SortsOf(model.page).size());
  if (count == 0) return;
  model.list().sort = (model.list().sort + 1) % count;
  Reorder(model);
}

void EditFilter(Model& model, const Key& key) {
  auto& list = model.list();
  if (key.code == KeyCode::kEnter) {
    model.editing_filter = false;
  } else if (key.code == KeyCode::kEscape) {
    model.editing_filter = false;
    list.filter.clear();
  } else if (key.code == KeyCode::kBackspace && !list.filter.empty()) {
    while (list.filter.size() > 1 && (static_cast<unsigned char>(list.filter.back()) & 0xc0) == 0x80)
      list.filter.pop_back();
    list.filter.pop_back();
  } else if (key.code == KeyCode::kCharacter && key.character >= 0x20 && list.filter.size() < kLongestFilter) {
    AppendUtf8(list.filter, key.character);
  }
  Reorder(model);
}

void Answer(Model& model, const Key& key) {
  if (key.code == KeyCode::kCharacter && (key.character == U'y' || key.character == U'Y')) {
    model.action = model.question;
  } else {
    model.notice = "nothing was changed";
  }
  model.question.reset();
}

void TakeDigit(Model& model, char32_t digit) {
  const auto pages = PagesOf(model);
  const auto index = static_cast<std::size_t>(digit - U'1');
  if (index < pages.size()) Show(model, pages[index]);
}

void StartFilter(Model& model) {
  if (IsList(model.page)) model.editing_filter = true;
}

void Reverse(Model& model) {
  if (SortsOf(model.page).empty()) return;
  model.list().reverse = !model.list().reverse;
  Reorder(model);
}

void TakeCharacter(Model& model, char32_t c) {
  switch (c) {
    case U'q': model.quit = true; return;
    case U'?': model.help = true; return;
    case U'j': return MoveCursor(model, 1);
    case U'k': return MoveCursor(model, -1);
    case U'g': return MoveCursor(model, -(1 << 28));
    case U'G': return MoveCursor(model, 1 << 28);
    case U's': return NextSort(model);
    case U'r': return Reverse(model);
    case U'/': return StartFilter(model);
    case U'l': return OpenLog(model);
    case U'c': return AskToCancel(model);
    case U't': return AskToRetry(model);
    case U'y': model.log_scale = !model.log_scale; return;
    default:
      if (c >= U'1' && c <= U'9') TakeDigit(model, c);
  }
}

void TakeKey(Model& model, const Key& key) {
  const int page = std::max(1, model.screen.rows - kChromeRows);
  switch (key.code) {
    case KeyCode::kCharacter: return TakeCharacter(model, key.character);
    case KeyCode::kUp: return MoveCursor(model, -1);
    case KeyCode::kDown: return MoveCursor(model, 1);
    case KeyCode::kPageUp: return MoveCursor(model, -page);
    case KeyCode::kPageDown: return MoveCursor(model, page);
    case KeyCode::kHome: return MoveCursor(model, -(1 << 28));
    case KeyCode::kEnd: return MoveCursor(model, 1 << 28);
    case KeyCode::kLeft: return ChangeRank(model, -1);
    case KeyCode::kRight: return ChangeRank(model, 1);
    case KeyCode::kEnter: return OpenSelected(model);
    case KeyCode::kEscape:
    case KeyCode::kBackspace: return GoBack(model);
    case KeyCode::kTab: return CyclePage(model, 1);
    case KeyCode::kBackTab: return CyclePage(model, -1);
  }
}

}  // namespace

WordTable<Page> WordsOf(Page) {
  static constexpr Word<Page> kWords[] = {
      {Page::kRuns, "runs"},   {Page::kSteps, "steps"},   {Page::kOverview, "overview"}, {Page::kCurves, "curves"},
      {Page::kRanks, "ranks"}, {Page::kTrials, "trials"}, {Page::kPlaces, "places"},     {Page::kEvents, "events"},
      {Page::kTrial, "trial"}, {Page::kLog, "log"}};
  return kWords;
}

std::vector<Page> PagesOf(const Model& model) {
  if (!model.data->run || model.page == Page::kSteps || !model.step.empty()) return {};
  if (IsEnsemble(model)) return {Page::kOverview, Page::kTrials, Page::kPlaces, Page::kEvents};
  return {Page::kOverview, Page::kCurves, Page::kRanks, Page::kEvents};
}

Model Update(Model model, const Key& key) {
  if (model.question) {
    Answer(model, key);
  } else if (model.editing_filter) {
    EditFilter(model, key);
  } else if (model.help) {
    model.help = false;
  } else {
    model.notice.clear();
    TakeKey(model, key);
  }
  return model;
}

Model WithData(Model model, std::shared_ptr<const WatchData> data) {
  const bool is_of_another_run = data->run && !model.run.empty() && data->run->folder != model.run;
  if (is_of_another_run) return model;  // it was read before another one was opened
  const auto selected = SelectedRow(model);
  if (selected && model.list().cursor > 0) {
    model.list().selected = KeyOf(*model.data, model.page, *selected);
  }
  model.data = std::move(data);
  Reorder(model);
  return model;
}

Interest InterestOf(const Model& model) {
  Interest interest;
  interest.list = model.has_list && model.page == Page::kRuns;
  const bool is_of_workflow = model.page == Page::kSteps || !model.step.empty();
  if (model.page != Page::kRuns && !is_of_workflow) interest.run = model.run;
  if (is_of_workflow) interest.workflow = model.workflow;
  interest.step = model.step;
  interest.ranks = model.page == Page::kRanks;
  if (model.page == Page::kTrial || model.page == Page::kLog) interest.trial = model.trial;
  interest.log = model.page == Page::kLog && model.step.empty();
  interest.rank = model.rank;
  return interest;
}

bool MayCancel(const Model& model) {
  const auto run = RunToCancel(model);
  return run && !run->ended;
}

std::string Question(const Action& action) {
  const auto run = action.run.filename().string();
  if (action.kind == Action::Kind::kRetry) return fmt::format("run trial {} of {} again?", *action.trial, run);
  return fmt::format("cancel {}?", run);
}

std::vector<std::pair<std::string, std::string>> HelpLines() {
  return {{"1 2 3 4, Tab", "switch between the pages"},   {"Up Down j k", "move; PgUp PgDn Home End g G further"},
          {"Enter", "open the run, step, trial or rank"}, {"Esc", "back"},
          {"l", "log of the step, trial or rank"},        {"Left Right", "in a log: another rank"},
          {"s, r", "sort by the next column; reverse"},   {"/", "filter: words, or name=value; Esc removes it"},
          {"y", "curves on a logarithmic scale"},         {"c", "cancel the run, after a question"},
          {"t", "run the trial again, after a question"}, {"q, Ctrl-C", "quit; the run goes on"}};
}

}  // namespace slipway::launcher::watch
