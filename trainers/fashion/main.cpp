// The fashion trainer: exit status 0 done or stopped as asked, 1 failed, 2 called wrongly.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "trainers/fashion/training.h"

int main(int argc, char** argv) {
  try {
    const auto arguments = fashion::ParseArguments(std::vector<std::string>(argv + 1, argv + argc));
    if (arguments.help) {
      std::fputs(fashion::HelpText().c_str(), stdout);
      return 0;
    }
    const auto settings = fashion::ReadSettings();
    slipway::client::Session session;
    fashion::Train(arguments, settings, session);
    return 0;
  } catch (const fashion::UsageError& error) {
    std::fprintf(stderr, "fashion: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    // Not by way of the session's destructor: the other ranks may wait in a collective that this one never reaches.
    std::fprintf(stderr, "fashion: %s\n", error.what());
    std::fflush(nullptr);
    std::_Exit(1);
  }
}
