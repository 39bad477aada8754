#include "launcher/view/workflow_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/parse_utc.h"
#include "core/units.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/view/html.h"
#include "launcher/view/report_page.h"
#include "launcher/workflow/draw.h"
#include "launcher/workflow/graph.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostValues = 6;
constexpr int kSecondsBetweenLooks = 3;

constexpr std::string_view kStyle =
    "body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;"
    "vertical-align:top}.wide{overflow:auto;margin:1rem 0}.took{white-space:nowrap}.failed{color:#a4261d}"
    ".running{color:#1a56a8}.skipped,.cancelled,.blocked{color:#666}.blocked{font-style:italic}a{color:#1a56a8}"
    "@media(prefers-color-scheme:dark){body{color:#e3e8ee;background:#0e1217}th,td{border-color:#2b333d}"
    ".failed{color:#ff8f85}.running,a{color:#7db1ff}.skipped,.cancelled,.blocked{color:#9aa6b3}}";

StepLook LookOf(StepState state) {
  switch (state) {
    case StepState::kDone:
    case StepState::kReused: return StepLook::kReused;
    case StepState::kRunning: return StepLook::kRuns;
    case StepState::kFailed: return StepLook::kFailed;
    case StepState::kBlocked: return StepLook::kBlocked;
    default: return StepLook::kPlain;
  }
}

Work WorkOf(std::string_view kind) {
  switch (FromWord<StepKind>(kind).value_or(StepKind::kCommand)) {
    case StepKind::kData: return DataStep{};
    case StepKind::kExperiment: return ExperimentStep{};
    case StepKind::kEnsemble: return EnsembleStep{};
    case StepKind::kReport: return ReportStep{};
    case StepKind::kCommand: break;
  }
  return CommandStep{};
}

/// What a picture needs of the workflow, as the run folder knows it.
Workflow GraphOfRows(const std::vector<StepRow>& rows) {
  Workflow workflow;
  for (const auto& row : rows) {
    Step step;
    step.name = row.step.name;
    step.work = WorkOf(row.step.kind);
    workflow.by_name[step.name] = workflow.steps.size();
    workflow.steps.push_back(std::move(step));
  }
  for (const auto& row : rows) {
    auto& needs = workflow.needs.emplace_back();
    for (const auto& need : row.step.needs) {
      if (const auto found = workflow.by_name.find(need); found != workflow.by_name.end())
        needs.push_back(found->second);
    }
  }
  workflow.order = OrderOf(workflow.needs).order;
  return workflow;
}

std::string PictureOf(const std::vector<StepRow>& rows) {
  std::vector<DrawnStep> drawn;
  for (const auto& row : rows) {
    const auto& record = row.record;
    auto note = std::string(WordOf(record.state));
    if (record.seconds > 0) note += " in " + FormatDuration(Seconds(record.seconds));
    drawn.push_back({std::move(note), LookOf(record.state)});
  }
  return DrawSvg(GraphOfRows(rows), drawn);
}

/// "loss 0.12, accuracy 0.91"; of an ensemble its best trial. Empty where there is no such result.
std::string ValuesText(const Json& values) {
  if (!values.is_object()) return {};
  std::vector<std::string> texts;
  const auto best = values.value("best", Json());
  if (best.is_object() && best.contains("value")) {
    texts.push_back(fmt::format("best {:.6g} (trial {})", best["value"].get<double>(), best.value("trial", 0)));
  }
  const auto metrics = values.value("metrics", Json::object());
  for (const auto& [name, value] : metrics.items()) {
    if (texts.size() >= kMostValues || !value.is_number()) continue;
    texts.push_back(fmt::format("{} {:.6g}", name, value.get<double>()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Null for a result that was removed or is damaged.
const StepResult* ResultOf(const StepRow& row, ResultStore& store) try {
  return !row.removed && HasResult(row.record.state) ? &store.Read(row.record.result) : nullptr;
} catch (const Error&) {
  return nullptr;
}

fs::path RunOfStep(const RunFolder& folder, const StepRow& row, const StepResult* result) {
  const auto runs = ListRuns(StepFolder(folder, row.step.name));
  if (!runs.empty()) return runs.back().path();
  return result == nullptr ? fs::path() : result->run_folder;
}

std::string LinksHtml(const std::vector<PageLink>& links) {
  std::string html;
  for (const auto& [text, address] : links) {
    if (address.empty()) continue;
    html += fmt::format("{}<a href=\"{}\">{}</a>", html.empty() ? "" : " ", EscapeHtml(address), EscapeHtml(text));
  }
  return html;
}

std::string RowHtml(const StepRow& row, const std::string& values, const std::vector<PageLink>& links) {
  const auto& record = row.record;
  const auto state = std::string(WordOf(record.state));
  const auto took = record.seconds > 0 ? FormatDuration(Seconds(record.seconds)) : std::string();
  return fmt::format(
      "<tr><td title=\"{}\">{}</td><td>{}</td><td "
      "class=\"{}\">{}</td><td class=\"took\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      EscapeHtml(row.step.description), EscapeHtml(row.step.name), EscapeHtml(row.step.kind), state, state, took,
      EscapeHtml(row.removed ? "its result was removed" : record.reason), EscapeHtml(values), LinksHtml(links));
}

/// Local, as the page of a run has it; `utc` as the run folder writes it.
std::string TimeHtml(const std::string& utc) {
  const auto time = ParseUtc(utc);
  if (!time) return EscapeHtml(utc);
  return fmt::format("<time datetime=\"{0}\" title=\"{0}\">{1}</time>", utc, FormatLocal(*time));
}

std::string HeadHtml(const RunState& state, const std::vector<StepRow>& rows, const std::string& id) {
  auto html = fmt::format("<h1>{}</h1>\n<p class=\"{}\"><strong>{}</strong>: {}</p>\n", EscapeHtml(id),
                          PhaseName(state.phase), PhaseName(state.phase), EscapeHtml(CountsText(rows)));
  if (!state.reason.empty()) html += fmt::format("<p>{}</p>\n", EscapeHtml(state.reason));
  html += "<p>started " + TimeHtml(state.started);
  return html + (state.ended.empty() ? "</p>\n" : fmt::format(", ended {}</p>\n", TimeHtml(state.ended)));
}

/// The path from one to the other, where both exist.
std::string AddressOf(const fs::path& file, const fs::path& directory) {
  return Exists(file) ? fs::absolute(file).lexically_relative(fs::absolute(directory)).string() : std::string();
}

}  // namespace

std::vector<PageLink> FileLinks(const RunFolder& folder, const StepRow& row, const fs::path& run,
                                const fs::path& directory) {
  const auto result = folder.path().parent_path() / ".results" / row.record.result;
  return {{"log", AddressOf(StepFolder(folder, row.step.name) / "log", directory)},
          {"page", row.record.result.empty() ? "" : AddressOf(result / "outputs" / kReportName, directory)},
          {"report", run.empty() ? "" : AddressOf(run / kReportName, directory)}};
}

std::string WorkflowPage(const RunFolder& folder, const WorkflowLook& look, const WorkflowPageOptions& options) {
  const auto& state = look.state;
  const auto rows = StepRowsOf(folder, look);
  ResultStore store(folder.path().parent_path());
  const bool is_live = options.follows && !HasEnded(state.phase);
  auto page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n{}"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}{}<div class=\"wide\">\n{}</div>\n<div "
      "class=\"wide\">\n<table>\n<thead><tr>"
      "<th>step</th><th>kind</th><th>state</th><th>took</th><th>why</th><th>values</th><th>more</th></tr></thead>\n"
      "<tbody>\n",
      is_live ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", kSecondsBetweenLooks) : "",
      EscapeHtml(folder.id()), kStyle, options.follows ? "<p><a href=\"./\">all runs</a></p>\n" : "",
      HeadHtml(state, rows, folder.id()), PictureOf(rows));
  for (const auto& row : rows) {
    const auto* result = ResultOf(row, store);
    page += RowHtml(row, result == nullptr ? "" : ValuesText(result->values),
                    options.links(row, RunOfStep(folder, row, result)));
  }
  return page + "</tbody>\n</table>\n</div>\n</body>\n</html>\n";
}

}  // namespace slipway::launcher
