#include "bench/time_program.h"

#include <fcntl.h>

#include "core/clock.h"
#include "core/files.h"

namespace slipway::bench {

TimedEnd TimeProgram(const std::vector<std::string>& words, const std::filesystem::path& directory, Shown shown) {
  const auto null = OpenFile("/dev/null", O_WRONLY);
  SpawnOptions options;
  options.argv = words;
  options.working_directory = directory;
  options.stdout_fd = null.get();
  if (shown == Shown::kNothing) options.stderr_fd = null.get();
  const auto started = SystemClock().Steady();
  const auto status = ChildProcess::Spawn(options).Wait();
  const Seconds elapsed = SystemClock().Steady() - started;
  return {elapsed.count(), status};
}

}  // namespace slipway::bench
