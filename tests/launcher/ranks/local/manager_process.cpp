// slipway_test_manager hold|run RANKS|supervised FOLDER PROGRAM...: manages one rank group until it is killed or the
// group ends. `hold` never opens the gate; `supervised` is one rank that a supervisor starts. Prints "ready" when the
// group exists.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/local/supervisor.h"

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  slipway::EventLoop loop;
  slipway::launcher::RankLaunch launch;
  slipway::launcher::Supervisor supervisor(loop);
  const bool supervised = std::string(argv[2]) == "supervised";
  if (supervised) launch.supervisor = &supervisor;
  launch.ranks = supervised ? 1 : std::atoi(argv[2]);
  launch.command.assign(argv + 4, argv + argc);
  launch.environment = slipway::Environment::Inherited();
  launch.working_directory = argv[3];
  launch.log_directory = argv[3];
  launch.grace = std::chrono::milliseconds(300);
  bool ended = false;
  const auto ranks = slipway::launcher::StartRanks(loop, launch, [&](const auto&) { ended = true; });
  if (std::string(argv[1]) == "run") ranks->Release();
  std::puts("ready");
  std::fflush(stdout);
  while (!ended) loop.RunOnce();
  return 0;
}
