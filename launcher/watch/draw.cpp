#include "launcher/watch/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/parse_utc.h"
#include "core/terminal_columns.h"
#include "core/units.h"
#include "launcher/view/accounting.h"
#include "launcher/watch/draw_parts.h"
#include "launcher/watch/plot.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kBodyRow = 2;
constexpr double kDaySeconds = 86'400;
constexpr double kLatestSeconds = 9e9;  ///< a WallTime ends in the year 2262

std::optional<double> TimeOfRun(const RunView& run, double now) {
  if (!run.started) return {};
  return std::max(0.0, EndOf(run, now) - *run.started);
}

/// Shows the steps of a workflow, or the log of one.
bool IsOfWorkflow(const Model& model) { return model.page == Page::kSteps || !model.step.empty(); }

void DrawTitle(Frame& frame, const Model& model) {
  const auto& run = model.data->run;
  int column = frame.Put(0, 1, "slipway watch", Style::kTitle) + 2;
  if (const auto& workflow = model.data->workflow; IsOfWorkflow(model) && workflow) {
    column = frame.Put(0, column, workflow->id, Style::kTitle) + 2;
    column = frame.Put(0, column, PhaseName(workflow->phase), Style::kTitle) + 2;
    if (workflow->started) {
      const double until = workflow->ended.value_or(model.now);
      frame.Put(0, column, DurationText(std::max(0.0, until - *workflow->started)), Style::kTitle);
    }
  } else if (model.page != Page::kRuns && run) {
    column = frame.Put(0, column, run->run, Style::kTitle) + 2;
    column = frame.Put(0, column, PhaseName(run->phase), Style::kTitle) + 2;
    if (const auto time = TimeOfRun(*run, model.now))
      column = frame.Put(0, column, DurationText(time), Style::kTitle) + 2;
    if (run->attempt > 1) frame.Put(0, column, fmt::format("attempt {}", run->attempt), Style::kTitle);
  } else if (model.page == Page::kRuns) {
    frame.Put(0, column,
              fmt::format("{} runs{}", model.data->runs.size(), model.data->all_runs_read ? "" : ", reading"),
              Style::kTitle);
  }
  frame.Paint(0, Style::kTitle);
}

std::string TitleOf(const Model& model) {
  if (model.page == Page::kSteps) return "steps";
  if (!model.step.empty()) return "log of step " + model.step;
  if (model.page == Page::kTrial && model.trial) return fmt::format("trial {}", *model.trial);
  if (model.page == Page::kLog && model.trial) return fmt::format("log of trial {}, rank {}", *model.trial, model.rank);
  if (model.page == Page::kLog) return fmt::format("log of rank {}", model.rank);
  return {};
}

std::string OrderText(const Model& model) {
  const auto& list = model.list();
  const auto& sorts = SortsOf(model.page);
  std::string text;
  if (!list.filter.empty()) text = fmt::format("filter '{}'  ", list.filter);
  if (!sorts.empty())
    text += fmt::format("by {}{}", sorts[static_cast<std::size_t>(list.sort)], list.reverse ? ", reversed" : "");
  return text;
}

void DrawTabs(Frame& frame, const Model& model) {
  int column = 1, number = 1;
  if (model.page != Page::kRuns) {
    for (const auto page : PagesOf(model)) {
      const auto text = fmt::format("{} {}", number++, WordOf(page));
      column = frame.Put(1, column, text, page == model.page ? Style::kSelected : Style::kPlain) + 2;
    }
    column = frame.Put(1, column, TitleOf(model), Style::kSelected) + 2;
  }
  const auto order = OrderText(model);
  frame.PutRight(1, frame.columns() - 1, order, Style::kDim);
}

std::string KeysOf(const Model& model) {
  const std::string cancel = MayCancel(model) ? "c cancel  " : "";
  if (model.page == Page::kRuns) return "Enter open  / filter  s sort  " + cancel + "? help  q quit";
  if (model.page == Page::kSteps) return "Enter open  l log  / filter  s sort  " + cancel + "? help  q quit";
  if (!model.step.empty()) return "Up Down PgUp PgDn move  Esc back  ? help  q quit";
  if (model.page == Page::kLog) return "Up Down PgUp PgDn move  Left Right rank  Esc back  ? help  q quit";
  if (model.page == Page::kTrial) return "l log  t retry  y log scale  Esc back  ? help  q quit";
  if (model.page == Page::kTrials || model.page == Page::kPlaces) {
    return "Enter open  l log  / filter  s sort  t retry  " + cancel + "? help  q quit";
  }
  if (model.page == Page::kRanks) return "Enter log  s sort  r reverse  / filter  " + cancel + "? help  q quit";
  return "Tab next page  l log  " + cancel + (model.back.empty() ? "" : "Esc back  ") + "? help  q quit";
}

void DrawBottom(Frame& frame, const Model& model) {
  const int row = frame.rows() - 1;
  if (model.question) {
    frame.Put(row, 1, Question(*model.question) + " y: yes, any other key: no", Style::kWarning);
  } else if (model.editing_filter) {
    frame.Put(row, 1, "filter: " + model.list().filter + "_   Enter: keep, Esc: none", Style::kStrong);
  } else if (model.is_busy) {
    frame.Put(row, 1, "waiting for an answer ...", Style::kWarning);
  } else if (!model.notice.empty()) {
    frame.Put(row, 1, model.notice, Style::kWarning);
  } else {
    frame.Put(row, 1, KeysOf(model), Style::kDim);
  }
}

void DrawHelp(Frame& frame) {
  int row = kBodyRow;
  frame.Put(row++, 2, "Keys", Style::kStrong);
  for (const auto& [key, meaning] : HelpLines()) {
    if (row >= frame.rows() - 2) break;
    frame.Put(row, 2, key, Style::kAccent);
    frame.Put(row++, 18, meaning);
  }
  frame.Put(frame.rows() - 1, 1, "any key: back", Style::kDim);
}

void DrawTooSmall(Frame& frame) {
  const auto text = {fmt::format("This terminal has {} x {} characters.", frame.columns(), frame.rows()),
                     fmt::format("slipway watch needs {} x {}.", kSmallestScreen.columns, kSmallestScreen.rows),
                     std::string("Enlarge it, or quit with q"), std::string("and use: slipway status")};
  int row = 0;
  for (const auto& line : text) frame.Put(row++, 0, line);
}

void DrawPage(Frame& frame, const Rectangle& body, const Model& model) {
  if (model.page == Page::kRuns) return DrawRunList(frame, body, model);
  const bool is_there = IsOfWorkflow(model) ? model.data->workflow != nullptr : model.data->run != nullptr;
  if (!is_there) {
    const bool failed = !model.data->trouble.empty();
    frame.Put(body.row, 2, failed ? model.data->trouble : "reading the run folder ...",
              failed ? Style::kBad : Style::kDim);
    return;
  }
  switch (model.page) {
    case Page::kSteps: return DrawSteps(frame, body, model);
    case Page::kCurves: return DrawCurves(frame, body, model);
    case Page::kRanks: return DrawRanks(frame, body, model);
    case Page::kTrials: return DrawTrials(frame, body, model);
    case Page::kPlaces: return DrawPlaces(frame, body, model, model.list());
    case Page::kEvents: return DrawEvents(frame, body, model);
    case Page::kTrial: return DrawTrial(frame, body, model);
    case Page::kLog: return DrawLog(frame, body, model);
    default: return model.data->run->ensemble ? DrawEnsemble(frame, body, model) : DrawSingle(frame, body, model);
  }
}

}  // namespace

Style StyleOfState(std::string_view state) {
  if (state == "succeeded" || state == "complete" || state == "done") return Style::kGood;
  if (state == "failed" || state == "lost" || state == "unreadable") return Style::kBad;
  if (state == "running" || state == "staging" || state == "claimed") return Style::kAccent;
  if (state == "cancelled" || state == "pruned" || state == "queued" || state == "paused" || state == "reused" ||
      state == "skipped") {
    return Style::kDim;
  }
  return Style::kPlain;
}

std::string DurationText(std::optional<double> seconds) { return seconds ? FormatDuration(Seconds(*seconds)) : "-"; }

std::string TimeText(double time, double now) {
  const auto local = FormatLocal(WallTimeAt(std::clamp(time, 0.0, kLatestSeconds)));  // 2026-11-21 07:49:00
  if (now - time < kDaySeconds / 2) return local.substr(11);
  return now - time > 300 * kDaySeconds ? local.substr(0, 10) : local.substr(5, 11);
}

std::string NumberText(std::optional<double> number) { return number ? ShortNumber(*number) : "-"; }

void DrawTable(Frame& frame, const Rectangle& place, const TableText& table, const ListState& list) {
  const int end = place.column + place.columns, rows = place.rows - 1;
  const auto put = [&](int row, const std::vector<TableCell>& cells, std::optional<Style> over) {
    int column = place.column;
    for (std::size_t i = 0; i < table.columns.size() && i < cells.size(); ++i) {
      const auto& [title, wanted, right] = table.columns[i];
      const int width = wanted == 0 ? end - column : std::min(wanted, end - column);
      if (width <= 0) return;
      const int indent = right ? std::max(0, width - WidthOf(cells[i].text)) : 0;
      frame.Put(row, column + indent, cells[i].text, over.value_or(cells[i].style), width - indent);
      column += width + 1;
    }
  };
  std::vector<TableCell> titles;
  for (const auto& column : table.columns) titles.push_back({column.title, Style::kDim});
  put(place.row, titles, {});
  if (list.order.empty()) frame.Put(place.row + 1, place.column, table.nothing, Style::kDim);
  const auto count = static_cast<int>(list.order.size()), cursor = static_cast<int>(list.cursor);
  const int top = std::clamp(cursor - rows / 2, 0, std::max(0, count - rows));
  for (int i = top; i < count && i - top < rows; ++i) {
    const int row = place.row + 1 + i - top;
    put(row, table.cells(list.order[static_cast<std::size_t>(i)]),
        i == cursor ? std::optional(Style::kSelected) : std::nullopt);
    if (i == cursor) frame.Paint(row, Style::kSelected);
  }
}

Frame Draw(const Screen& screen, const Model& model) {
  Frame frame(screen.rows, screen.columns);
  if (screen.rows < kSmallestScreen.rows || screen.columns < kSmallestScreen.columns) {
    DrawTooSmall(frame);
    return frame;
  }
  DrawTitle(frame, model);
  if (model.help) {
    DrawHelp(frame);
    return frame;
  }
  DrawTabs(frame, model);
  DrawPage(frame, {kBodyRow, 1, screen.rows - kBodyRow - 1, screen.columns - 2}, model);
  DrawBottom(frame, model);
  return frame;
}

}  // namespace slipway::launcher::watch
