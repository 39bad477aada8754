#include "trainers/common/trainer_main.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "trainers/common/training.h"
#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

/// Without the stack that libtorch adds to what it says.
const char* Reason(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

/// Joins the job and trains. A UsageError is the same on every rank: they leave the job together.
Ending TrainInJob(const Task& task, const Arguments& arguments, const Settings& settings) {
  slipway::client::Session session;
  try {
    return Train(task, arguments, settings, session);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    // Before the session's destructor, which waits for all ranks: the others may be in a collective that this one
    // never reaches. MPI's launcher ends them when it sees this one gone.
    fmt::print(stderr, "{}: {}\n", task.name(), Reason(error));
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

std::string HelpText(const Task& task, const OptionList& options) {
  return fmt::format(
      "{}: {}\n"
      "It is started by `slipway run`, which sets SLIPWAY_DATA_TRAIN and SLIPWAY_DATA_TEST. A value in SLIPWAY_PARAMS\n"
      "replaces the argument of the same name.\n\n{}",
      task.name(), task.about(), options.Help());
}

/// Each step asks for the blocks again that the last one freed. Given back to the system they would come as new pages,
/// to be cleared one by one: a fifth of a step of the Fashion network.
void KeepFreedMemory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

int Run(Task& task, const std::vector<std::string>& words) {
  Arguments arguments;
  OptionList options;
  task.Describe(options, arguments);
  AddCommonOptions(options, arguments, std::string(task.records()));
  if (words == std::vector<std::string>{"--options"}) {  // for the launcher, which checks train.args before a start
    fmt::print("{}\n", fmt::join(options.Names(), "\n"));
    return 0;
  }
  if (options.Parse(words)) {
    fmt::print("{}", HelpText(task, options));
    return 0;
  }
  const auto settings = ReadSettings();
  options.Override(settings.parameters);
  task.CheckOptions();
  // A seed among the parameters is raised by the launcher.
  if (!settings.parameters.contains("seed")) arguments.seed += settings.repeat;
  constexpr int kGoOnLater = 75;
  return TrainInJob(task, arguments, settings) == Ending::kAtLimit ? kGoOnLater : 0;
}

}  // namespace

int TrainerMain(Task& task, int argc, char** argv) {
  KeepFreedMemory();
  try {
    return Run(task, std::vector<std::string>(argv + 1, argv + argc));
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}: {}\n", task.name(), error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", task.name(), error.what());
    return 1;
  }
}

}  // namespace trainers
