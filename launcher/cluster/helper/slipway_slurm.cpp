// slipway-slurm: carries out one request to Slurm, read from the standard input, answers in one line and ends. It is a
// process of its own because libslurm may exit, print or block for a minute; whoever starts it sets a deadline.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/files.h"
#include "core/install.h"
#include "core/unique_handle.h"
#include "launcher/cluster/helper/load_module.h"
#include "launcher/cluster/slurm_messages.h"

namespace slipway::launcher {
namespace {

/// Where the answer goes. From now on whatever prints to the standard output prints to the error output instead.
UniqueFd TakeStandardOutput() {
  UniqueFd answer(CheckErrno(::dup(STDOUT_FILENO), "the standard output"));
  CheckErrno(::dup2(STDERR_FILENO, STDOUT_FILENO), "the error output");
  return answer;
}

/// libslurm without a slurm.conf asks the name service where the controller is; a laptop has nobody to answer.
void KeepNameServiceShort() { ::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0); }

std::string AnswerTo(const std::string& request) {
  try {
    const auto answer = LoadSlurmModule(LibraryDirectory() / "slipway" / "slurm");
    return answer(request.c_str());
  } catch (const SlurmError& error) {
    return AnswerLine(error.report());
  }
}

int Main() {
  const auto output = TakeStandardOutput();
  KeepNameServiceShort();
  const auto answer = AnswerTo(ReadFile("/dev/stdin")) + "\n";
  WriteAll(output.get(), answer, "the standard output");
  return 0;
}

}  // namespace
}  // namespace slipway::launcher

int main() {
  int status = 3;
  try {
    status = slipway::launcher::Main();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-slurm: %s\n", error.what());
  }
  std::fflush(nullptr);
  ::_exit(status);  // not through the exit handlers of libslurm and its plugins
}
