// The fashion trainer: exit status 0 done or stopped as asked, 1 failed, 2 called wrongly, 75 at the limit of its
// scheduler and ready to go on.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "trainers/fashion/training.h"

namespace {

/// Joins the job and trains. A UsageError is the same on every rank: they leave the job together.
fashion::Ending TrainInJob(const fashion::Arguments& arguments, const fashion::Settings& settings) {
  slipway::client::Session session;
  try {
    return fashion::Train(arguments, settings, session);
  } catch (const fashion::UsageError&) {
    throw;
  } catch (const std::exception& error) {
    // Before the session's destructor, which waits for all ranks: the others may be in a collective that this one
    // never reaches. MPI's launcher ends them when it sees this one gone.
    std::fprintf(stderr, "fashion: %s\n", error.what());
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto arguments = fashion::ParseArguments(std::vector<std::string>(argv + 1, argv + argc));
    if (arguments.help) {
      std::fputs(fashion::HelpText().c_str(), stdout);
      return 0;
    }
    const auto settings = fashion::ReadSettings();
    fashion::Override(arguments, settings.parameters);
    // A seed among the parameters is raised by the launcher.
    if (!settings.parameters.contains("seed")) arguments.seed += settings.repeat;
    constexpr int kGoOnLater = 75;
    return TrainInJob(arguments, settings) == fashion::Ending::kAtLimit ? kGoOnLater : 0;
  } catch (const fashion::UsageError& error) {
    std::fprintf(stderr, "fashion: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion: %s\n", error.what());
    return 1;
  }
}
