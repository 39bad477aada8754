// `slipway workflow gc`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/run/workflow/result_gc.h"

namespace slipway::launcher {
namespace {

struct KeptWords {
  KeptBy by;
  const char* member;  ///< of the JSON document
  const char* text;
};
constexpr KeptWords kKept[] = {{KeptBy::kLease, "leased", "held by running workflows"},
                               {KeptBy::kRun, "of_runs", "of runs"},
                               {KeptBy::kAge, "young", "used lately"},
                               {KeptBy::kResult, "needed", "needed by results that stay"}};

GcRules RulesOf(const WorkflowGcOptions& options) {
  GcRules rules;
  rules.runs = options.ended_runs ? RunsThatKeep::kLive : RunsThatKeep::kAll;
  if (!options.older_than.empty()) rules.older_than = ParseDuration(options.older_than);
  if (!options.older_than.empty() && !rules.older_than) {
    throw Error(ErrorKind::kUsage, fmt::format("--older-than '{}' is not a duration", options.older_than),
                "write it like 12h or 30d");
  }
  if (options.ended_runs && !rules.older_than) {
    throw Error(ErrorKind::kUsage, "--ended-runs without an age would remove every result that is not in use",
                "say how old they must be: --older-than 30d");
  }
  return rules;
}

Bytes BytesOf(const GcReport& report) {
  Bytes bytes;
  for (const auto& result : report.removed) bytes.count += result.bytes.count;
  return bytes;
}

Json GcDocument(const GcReport& report, bool dry_run) {
  Json document{{"schema", "slipway.workflow.gc/1"},
                {"dry_run", dry_run},
                {"freed_bytes", BytesOf(report).count},
                {"removed", Json::array()},
                {"kept", Json::object()}};
  for (const auto& result : report.removed) {
    document["removed"].push_back(
        {{"result", result.id}, {"workflow", result.workflow}, {"step", result.step}, {"bytes", result.bytes.count}});
  }
  for (const auto& [by, member, text] : kKept) {
    const auto found = report.kept.find(by);
    document["kept"][member] = found == report.kept.end() ? 0 : found->second;
  }
  return document;
}

std::string GcText(const GcReport& report, bool dry_run) {
  const auto* verb = dry_run ? "would remove" : "removed";
  std::string text;
  for (const auto& result : report.removed) {
    const auto whose = result.step.empty() ? std::string("damaged") : result.workflow + "/" + result.step;
    text += fmt::format("{} {}  {}  {}\n", verb, result.id.substr(0, 12), whose, FormatBytes(result.bytes));
  }
  std::vector<std::string> kept;
  for (const auto& [by, member, words] : kKept) {
    const auto found = report.kept.find(by);
    if (found != report.kept.end()) kept.push_back(fmt::format("{} {}", found->second, words));
  }
  text += fmt::format("{} {} results, {}", verb, report.removed.size(), FormatBytes(BytesOf(report)));
  if (!kept.empty()) text += fmt::format("; kept: {}", fmt::join(kept, ", "));
  return text;
}

}  // namespace

int WorkflowGc(const WorkflowGcOptions& options, Session& session) {
  const auto report = RemoveUnusedResults(session.runs_directory, RulesOf(options), options.dry_run);
  std::string ids;
  for (const auto& result : report.removed) ids += result.id + "\n";
  session.output.Print({GcDocument(report, options.dry_run), GcText(report, options.dry_run), ids});
  return 0;
}

}  // namespace slipway::launcher
