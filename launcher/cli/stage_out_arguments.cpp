// `slipway stage out`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"

namespace slipway::launcher {

void DescribeStageOut(CLI::App& stage, Arguments& arguments) {
  auto* out =
      AddCommand(stage, "out", "Bring what a run has left in a tier into its folder; or copy a directory, checked",
                 "  slipway stage out last            # finish what a run could not copy out\n"
                 "  slipway stage out --all\n"
                 "  slipway stage out --all --dry-run --json\n"
                 "  slipway stage out /dev/shm/results /project/results --bandwidth 500MB");
  auto& options = arguments.stage_out;
  out->add_option("what", options.what, "A run (default: last), or a directory and its destination")->expected(0, 2);
  out->add_flag("--all", options.all, "All runs that have left something");
  out->add_flag("--dry-run", options.dry_run, "Say what would be copied; copy nothing");
  out->add_option("--bandwidth", options.bandwidth, "Most bytes a second, e.g. 200MB")->check(kNotEmpty);
  SetAction(out, arguments, [&](Session& session) { return StageOut(arguments.stage_out, session); });
}

}  // namespace slipway::launcher
