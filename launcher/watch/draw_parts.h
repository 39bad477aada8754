/// The parts of the screen, for draw.cpp.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/watch/frame.h"
#include "launcher/watch/model.h"

namespace slipway::launcher::watch {

struct TableCell {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string title;
  int width = 0;  ///< 0: the rest of the line
  bool right = false;
};

struct TableText {
  std::vector<Column> columns;
  std::function<std::vector<TableCell>(std::size_t row)> cells;
  std::string nothing;  ///< is said when there are no rows
};

/// The rows around the cursor, under their headings.
void DrawTable(Frame& frame, const Rectangle& place, const TableText& table, const ListState& list);

void DrawRunList(Frame& frame, const Rectangle& place, const Model& model);
void DrawSteps(Frame& frame, const Rectangle& place, const Model& model);
void DrawTrials(Frame& frame, const Rectangle& place, const Model& model);
void DrawPlaces(Frame& frame, const Rectangle& place, const Model& model, const ListState& list);
void DrawRanks(Frame& frame, const Rectangle& place, const Model& model);
void DrawEvents(Frame& frame, const Rectangle& place, const Model& model);
void DrawSingle(Frame& frame, const Rectangle& place, const Model& model);
void DrawEnsemble(Frame& frame, const Rectangle& place, const Model& model);
void DrawCurves(Frame& frame, const Rectangle& place, const Model& model);
void DrawTrial(Frame& frame, const Rectangle& place, const Model& model);
void DrawLog(Frame& frame, const Rectangle& place, const Model& model);

/// One plot for each metric, below each other; the curves of attempts follow each other.
void DrawMetrics(Frame& frame, const Rectangle& place, const std::vector<CurveView>& curves, bool log_scale);

/// Of a phase of a run or a state of a trial.
Style StyleOfState(std::string_view state);
/// "12m03s"; "-" for none.
std::string DurationText(std::optional<double> seconds);
/// "14:03:22"; of another day "11-25 14:03", of long ago "2024-11-25". Local time.
std::string TimeText(double time, double now);
std::string NumberText(std::optional<double> number);

}  // namespace slipway::launcher::watch
