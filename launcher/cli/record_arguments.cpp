// Commands that compare what runs have recorded, and repeat them.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"

namespace slipway::launcher {

void DescribeRecords(CLI::App& app, Arguments& arguments) {
  auto* compare = AddCommand(app, "compare", "Show what differs between runs: spec, results, costs, code, machine",
                             "  slipway compare fash-a fash-b\n  slipway compare fash-a fash-b --html both.html\n"
                             "  slipway compare fash-a fash-b --json | jq '.bits[0].parting'");
  compare->add_option("run", arguments.compare.runs, "Two runs or more: ids, unique prefixes, folders, or last")
      ->required();
  compare->add_option("--html", arguments.compare.html, "Also write the report page of all these runs there");
  SetAction(compare, arguments, [&](Session& session) { return CompareRuns(arguments.compare, session); });

  auto* usage = AddCommand(app, "usage", "Show what all runs have used: node-hours, energy, lost and idle shares",
                           "  slipway usage --since 30d\n  slipway usage --by user,engine\n"
                           "  slipway usage --json | jq '.total.node_hours'");
  usage
      ->add_option("--since", arguments.usage.since, "Count runs that began since then, for example 30d (default: all)")
      ->check(kNotEmpty);
  usage->add_option("--by", arguments.usage.by, "Rows for each: user, name, engine, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  SetAction(usage, arguments, [&](Session& session) { return ShowUsage(arguments.usage, session); });

  auto* reproduce = AddCommand(app, "reproduce", "Write the spec and say the command that repeat a run",
                               "  slipway reproduce\n  slipway reproduce fash --out again.yaml\n"
                               "  slipway reproduce fash --json | jq '.differences'");
  AddRunSelector(reproduce, arguments.reproduce.run);
  reproduce->add_option("-o,--out", arguments.reproduce.out,
                        "Write the spec there (default: RUN.yaml beside the spec)");
  SetAction(reproduce, arguments, [&](Session& session) { return Reproduce(arguments.reproduce, session); });
}

}  // namespace slipway::launcher
