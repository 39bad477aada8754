// `slipway init`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/describe.h"

namespace slipway::launcher {

void DescribeInit(CLI::App& app, Arguments& arguments) {
  auto* init = AddCommand(app, "init", "Make a project to start from: a program, its experiment, small data",
                          "  slipway init first --template command     # any program, measured by what it prints\n"
                          "  slipway init mine --template pytorch && cd mine && slipway run experiment.yaml\n"
                          "  slipway init ddp --template ddp           # DistributedDataParallel, two lines changed\n"
                          "  slipway init fast --template cpp");
  init->add_option("name", arguments.init.name, "The new folder, and the name of the experiment")->required();
  init->add_option("--template", arguments.init.chosen, "command, cpp, ddp or pytorch")
      ->required()
      ->check(OneOf(ProjectTemplates()));
  SetAction(init, arguments, [&](Session& session) { return Init(arguments.init, session); });
}

}  // namespace slipway::launcher
