// `slipway stage directives`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"

namespace slipway::launcher {

void DescribeStageDirectives(CLI::App& stage, Arguments& arguments) {
  auto* command = AddCommand(stage, "directives", "Do what the #BB_LUA lines of a job script ask for, checked",
                             "  slipway stage directives check job.sh\n"
                             "  slipway stage directives in job.sh --buffer /flash/12/data --capacity 64GiB\n"
                             "  slipway stage directives out job.sh --buffer /flash/12/data");
  auto& options = arguments.stage_directives;
  command->add_option("what", options.what, "check, in or out")->required()->check(OneOf({"check", "in", "out"}));
  command->add_option("script", options.script, "The job script")->required();
  command->add_option("--buffer", options.buffer, "The directory that $BB_JOB_STRIPED stands for");
  command->add_option("--capacity", options.capacity, "What may be staged into it, e.g. 64GiB")->check(kNotEmpty);
  command->add_option("--bandwidth", options.bandwidth, "Most bytes a second, e.g. 500MB")->check(kNotEmpty);
  SetAction(command, arguments, [&](Session& session) { return StageDirectives(arguments.stage_directives, session); });
}

}  // namespace slipway::launcher
