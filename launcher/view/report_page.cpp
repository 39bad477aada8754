#include "launcher/view/report_page.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <string_view>

#include "core/clock.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/parse_utc.h"
#include "launcher/view/html.h"
#include "launcher/view/view_reader.h"
#include "staging/formats/compression.h"

// The files of templates/report, as they are in the source tree. The build names them.
#define SLIPWAY_EMBED(name, file)                                                                                  \
  __asm__(".pushsection .rodata\n.global slipway_embedded_" #name "\nslipway_embedded_" #name ":\n.incbin \"" file \
          "\"\n.global slipway_embedded_" #name "_end\nslipway_embedded_" #name "_end:\n.byte 0\n.popsection\n");  \
  extern "C" const char slipway_embedded_##name[];                                                                 \
  extern "C" const char slipway_embedded_##name##_end[]

SLIPWAY_EMBED(skeleton, SLIPWAY_REPORT_TEMPLATES "/skeleton.html");
SLIPWAY_EMBED(style, SLIPWAY_REPORT_TEMPLATES "/dist/report.css");
SLIPWAY_EMBED(script, SLIPWAY_REPORT_TEMPLATES "/dist/report.js");

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

/// HTML: for each run its state, result, attempts, best trials, failures and accounting.
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

/// Base64 of gzip. Cost: 10 MB in 0.3 s.
std::string GzipBase64(std::string_view text) {
  std::string packed;
  const auto keep = [&packed](std::string_view deflated) { packed += deflated; };
  staging::Deflater deflater(staging::Compression::kGzip);
  deflater.Update(text, keep);
  deflater.Finish(keep);
  std::string coded(sodium_base64_ENCODED_LEN(packed.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  ::sodium_bin2base64(coded.data(), coded.size(), reinterpret_cast<const unsigned char*>(packed.data()), packed.size(),
                      sodium_base64_VARIANT_ORIGINAL);
  coded.pop_back();  // the zero byte
  return coded;
}

constexpr std::size_t kLargestPlainDocument = std::size_t{1} << 20;

std::string_view Skeleton() { return {slipway_embedded_skeleton, slipway_embedded_skeleton_end}; }
std::string_view Style() { return {slipway_embedded_style, slipway_embedded_style_end}; }
std::string_view Script() { return {slipway_embedded_script, slipway_embedded_script_end}; }

/// What takes the places of the skeleton's comments. The README of the templates lists them.
struct Parts {
  std::string live;
  std::string summary;
  std::string view;
};

std::string Within(std::string_view element, std::string_view content) {
  return fmt::format("<{0}>{1}</{0}>", element, content);
}

/// Each place is filled once, so a text that looks like one is left alone.
std::string Filled(const Parts& parts) {
  const std::pair<std::string_view, std::string> places[] = {
      {"<!-- slipway:live -->", parts.live},
      {"<!-- slipway:style -->", Within("style", Style())},
      {"<!-- slipway:summary -->", parts.summary},
      {"<!-- slipway:view -->", parts.view},
      {"<!-- slipway:script -->", Within("script", Script())},
  };
  std::string page;
  std::string_view rest = Skeleton();
  for (const auto& [place, content] : places) {
    const auto at = rest.find(place);
    page += rest.substr(0, at);
    page += content;
    rest.remove_prefix(at + place.size());
  }
  return page += rest;
}

/// The element that the page's script reads.
std::string DataElement(const std::string& document) {
  constexpr auto kElement = "<script type=\"application/{}\" id=\"slipway-view\">{}</script>";
  const bool is_large = document.size() > kLargestPlainDocument;
  return is_large ? fmt::format(kElement, "gzip", GzipBase64(document))
                  : fmt::format(kElement, "json", JsonWithinScript(document));
}

}  // namespace

std::string ReportPage(const std::vector<RunView>& runs, double made) {
  return Filled({"", SummaryHtml(runs), DataElement(JsonText(ViewDocument(runs, made)))});
}

std::filesystem::path WriteReport(const RunFolder& folder) {
  const auto file = folder.path() / kReportName;
  WriteFileAtomically(file, ReportPage({ViewReader(folder).Read(Depth::kAnalysis)}, UnixSeconds(SystemClock().Now())));
  return file;
}

std::string LivePage() { return Filled({"<meta name=\"slipway-live\" content=\"1\">", "", ""}); }

}  // namespace slipway::launcher
