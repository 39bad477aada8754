// slipway_test_manager hold|run RANKS FOLDER PROGRAM...: manages one rank group until it is killed or the group ends.
// `hold` never opens the gate. Prints "ready" when the group exists.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/engines/local/rank_group.h"

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  slipway::EventLoop loop;
  slipway::launcher::RankLaunch launch;
  launch.ranks = std::atoi(argv[2]);
  launch.command.assign(argv + 4, argv + argc);
  launch.environment = slipway::Environment::Inherited();
  launch.working_directory = argv[3];
  launch.log_directory = argv[3];
  launch.grace = std::chrono::milliseconds(300);
  bool ended = false;
  slipway::launcher::RankGroup group(loop, launch, [&](const auto&) { ended = true; });
  if (std::string(argv[1]) == "run") group.Release();
  std::puts("ready");
  std::fflush(stdout);
  while (!ended) loop.RunOnce();
  return 0;
}
