#include "launcher/view/report_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json_text.h"
#include "core/parse_utc.h"
#include "launcher/view/html.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostTrials = 20;

using Row = std::vector<std::string>;

std::string TableHtml(const std::string& caption, const Row& header, const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  auto html = fmt::format("<table><caption>{}</caption><thead><tr>", EscapeHtml(caption));
  for (const auto& cell : header) html += fmt::format("<th scope=\"col\">{}</th>", EscapeHtml(cell));
  html += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const auto& cell : row) html += fmt::format("<td>{}</td>", EscapeHtml(cell));
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string TimeText(const std::optional<double>& time) {
  return time ? FormatUtc(WallTimeAt(*time)).substr(0, 19) + "Z" : "";
}

std::string SecondsText(double seconds) { return fmt::format("{:.4g} s", seconds); }

Row Fact(std::string name, std::string value) { return {std::move(name), std::move(value)}; }

std::vector<Row> FactsOf(const RunView& run) {
  std::vector<Row> rows = {Fact("state", std::string(PhaseName(run.phase)))};
  if (!run.reason.empty()) rows.push_back(Fact("reason", run.reason));
  if (run.best) {
    const auto where = run.best->trial ? fmt::format(" (trial {})", *run.best->trial) : "";
    rows.push_back(Fact("best " + run.best->metric, fmt::format("{:.6g}{}", run.best->value, where)));
  }
  if (run.progress) {
    const auto total = run.progress->total ? fmt::format(" of {}", *run.progress->total) : "";
    rows.push_back(Fact("progress", fmt::format("{}{} {}", run.progress->done, total, run.progress->unit)));
  }
  rows.push_back(Fact("started", TimeText(run.started ? run.started : run.created)));
  if (run.ended) rows.push_back(Fact("ended", TimeText(run.ended)));
  rows.push_back(Fact("engine", fmt::format("{}, {} nodes, {} ranks", run.engine, run.nodes, run.ranks)));
  rows.push_back(Fact("folder", run.folder));
  for (const auto& warning : run.warnings) rows.push_back(Fact("warning", warning));
  return rows;
}

std::string AttemptsHtml(const RunView& run) {
  std::vector<Row> rows;
  for (const auto& attempt : run.attempts) {
    rows.push_back(
        {std::to_string(attempt.number), TimeText(attempt.started), TimeText(attempt.ended), attempt.reason});
  }
  return TableHtml("Attempts", {"attempt", "started", "ended", "reason"}, rows);
}

std::string MetricsHtml(const RunView& run) {
  std::vector<Row> rows;
  for (const auto& curve : run.curves) {
    if (curve.trial || curve.value.empty()) continue;
    const auto last = curve.value.back() ? fmt::format("{:.6g}", *curve.value.back()) : "not finite";
    rows.push_back({curve.metric, std::to_string(curve.attempt), std::to_string(curve.count), last,
                    curve.lowest ? fmt::format("{:.6g}", *curve.lowest) : "",
                    curve.highest ? fmt::format("{:.6g}", *curve.highest) : ""});
  }
  return TableHtml("Metrics", {"metric", "attempt", "values", "last", "lowest", "highest"}, rows);
}

std::string TrialsHtml(const RunView& run) {
  if (!run.trials) return "";
  const auto& trials = *run.trials;
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < trials.number.size(); ++i) {
    if (trials.rank[i]) ranked.push_back(i);
  }
  std::ranges::sort(ranked, {}, [&](std::size_t i) { return *trials.rank[i]; });
  if (ranked.size() > kMostTrials) ranked.resize(kMostTrials);
  Row header = {"rank", "trial"};
  for (const auto& objective : run.objectives) header.push_back(objective.name);
  for (const auto& [name, values] : trials.parameters) header.push_back(name);
  std::vector<Row> rows;
  for (const auto i : ranked) {
    Row row = {std::to_string(*trials.rank[i]), std::to_string(trials.number[i])};
    for (const auto& values : trials.value) row.push_back(values[i] ? fmt::format("{:.6g}", *values[i]) : "");
    for (const auto& [name, values] : trials.parameters) row.push_back(values[i].is_null() ? "" : PlainText(values[i]));
    rows.push_back(std::move(row));
  }
  return TableHtml("Best trials", header, rows);
}

std::string FailuresHtml(const RunView& run) {
  std::string html;
  for (const auto& failure : run.failures) {
    html += fmt::format("<h3>{} ({})</h3>\n<pre>", EscapeHtml(failure.what), failure.count);
    for (const auto& line : failure.lines) html += EscapeHtml(line) + "\n";
    html += "</pre>\n";
  }
  return html.empty() ? "" : "<h2>Failures</h2>\n" + html;
}

std::string AccountingHtml(const RunView& run) {
  if (!run.accounting || run.accounting->node_seconds <= 0) return "";
  std::vector<Row> rows;
  for (const auto& [part, seconds] : run.accounting->parts) {
    rows.push_back({part, SecondsText(seconds), fmt::format("{:.1f} %", 100 * seconds / run.accounting->node_seconds)});
  }
  rows.push_back({"all", SecondsText(run.accounting->node_seconds), "100.0 %"});
  return TableHtml("Where the time of the nodes went", {"part", "node time", "share"}, rows);
}

}  // namespace

std::string SummaryHtml(const std::vector<RunView>& runs) {
  std::string html;
  for (const auto& run : runs) {
    html += fmt::format("<section>\n<h1>{}</h1>\n", EscapeHtml(run.run));
    html += TableHtml("Run", {"", ""}, FactsOf(run));
    html += AttemptsHtml(run) + MetricsHtml(run) + TrialsHtml(run) + FailuresHtml(run) + AccountingHtml(run);
    html += "</section>\n";
  }
  return html;
}

}  // namespace slipway::launcher
