#include "launcher/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>

#include "core/environment.h"
#include "core/install.h"
#include "core/log.h"
#include "core/write_signals.h"
#include "launcher/cli/arguments.h"
#include "launcher/cli/remote/on_host.h"
#include "launcher/cli/remote/remote_commands.h"
#include "launcher/cli/usage_error.h"

namespace slipway::launcher {
namespace {

std::filesystem::path WhereRunsAre(const Arguments& arguments) {
  if (!arguments.runs_directory.empty()) return std::filesystem::absolute(arguments.runs_directory);
  const auto named = Variable("SLIPWAY_RUNS");
  return std::filesystem::absolute(named.empty() ? "runs" : named);
}

/// A JSON mode that the parser has not reached yet still decides how its error is printed.
OutputMode ModeAskedFor(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return OutputMode::kJson;
  }
  return OutputMode::kHuman;
}

/// Whether word `i` is the value of an option before it.
bool IsValue(const std::vector<std::string>& words, std::size_t i) {
  return i > 0 && (words[i - 1] == "--runs-dir" || words[i - 1] == "--description" || words[i - 1] == "--remove" ||
                   words[i - 1] == "--on");
}

std::string CommandIn(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-') && !IsValue(words, i)) return words[i];
  }
  return {};
}

/// `slipway tag RUN -TAG` is short for `--remove TAG`: the parser would take -TAG for options of one letter.
std::vector<std::string> WithRemovals(std::vector<std::string> words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const bool removes = words[i].size() > 2 && words[i][0] == '-' && words[i][1] != '-' && !IsValue(words, i);
    if (removes) words[i] = "--remove=" + words[i].substr(1);
  }
  return words;
}

/// The words behind the program's name, the last first, as the parser takes them.
std::vector<std::string> WordsFor(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (CommandIn(words) == "tag") words = WithRemovals(std::move(words));
  std::ranges::reverse(words);
  return words;
}

/// `code`, unless what was printed got lost: that is an error of a command that had nothing else to do.
int CodeOfAnswer(Output& output, int code) {
  if (output.WriteError() == 0) return code;
  const SystemError lost(output.WriteError(), "cannot write all of the output to stdout");
  if (code == 0 && !WorksWithoutReader()) throw lost;
  output.Warn(lost.message());
  return code;
}

/// `command` carries out what the arguments say; its errors are printed.
int Perform(const Arguments& arguments, const std::function<int(Output&)>& command) {
  const auto output = MakeConsoleOutput(arguments.mode);
  try {
    log::RequireKnownLevel();
    return CodeOfAnswer(*output, command(*output));
  } catch (const Error& error) {
    output->Fail(error);
    return error.exit_code();
  } catch (const std::exception& error) {
    output->Fail(Error(ErrorKind::kInternal, std::string("internal error: ") + error.what(),
                       "please report it with the command you gave"));
    return static_cast<int>(ErrorKind::kInternal);
  }
}

int PerformHere(const Arguments& arguments) {
  return Perform(arguments, [&](Output& output) {
    Session session{output, WhereRunsAre(arguments), arguments.runs_directory};
    return arguments.command(session);
  });
}

int PerformOn(const CLI::App& app, const Arguments& arguments, const std::vector<std::string>& words) {
  return Perform(arguments, [&](Output& output) {
    RemoteRequest request{.host = arguments.on,
                          .words = WithoutHost(words),
                          .command = app.get_subcommands().front()->get_name(),
                          .spec = arguments.selection.spec,
                          .runs = arguments.report.runs,
                          .out = arguments.report.out};
    return CarryOutOn(request, output);
  });
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Launch distributed training, stage its data, run and rank ensembles of it.", "slipway");
  app.set_version_flag("--version", "slipway " + std::string(Version()) + " (" + std::string(SourceRevision()) + ")");
  app.footer(
      "First steps:  slipway init NAME --template pytorch, slipway validate SPEC, slipway plan SPEC, slipway run SPEC\n"
      "Help for one command:  slipway run --help");
  Arguments arguments;
  DescribeCommands(app, arguments);
  try {
    app.parse(WordsFor(argc, argv));
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    MakeConsoleOutput(ModeAskedFor(argc, argv))->Fail(UsageError(app, error, {argv + std::min(argc, 1), argv + argc}));
    return static_cast<int>(ErrorKind::kUsage);
  }
  if (app.count("--on") == 0) return PerformHere(arguments);
  return PerformOn(app, arguments, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace slipway::launcher
