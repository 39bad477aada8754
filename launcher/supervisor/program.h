/// One program from its fork to its end.
#pragma once

#include <sys/types.h>

#include <string>

#include "launcher/shim/ending.h"
#include "launcher/supervisor/request.h"

namespace slipway::supervisor {

struct Program {
  std::uint64_t id = 0;
  pid_t pid = 0;
  std::string folder;
  shim::Ending ending;
  bool released = false;
  int error = 0;  ///< errno, when it could not be executed
};

/// What a forked program tells its supervisor when it cannot be executed; fits into one write to a pipe.
struct StartError {
  pid_t pid;
  int error;
};

/// Forks. The child waits until Release; with SIGTERM instead it leaves with shim::kNotRun. A StartError of it comes
/// through the pipe `errors`. Returns its number, or -1 and errno.
pid_t Fork(const Request& request, int errors);

/// Lets it become the program.
void Release(Program& program);

}  // namespace slipway::supervisor
