#include "bench/ensemble/bare_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "bench/ensemble/disk_limits.h"
#include "bench/ensemble/stopwatch.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::bench {
namespace {

namespace fs = std::filesystem;

/// Its output goes into a file.
pid_t Spawn(const std::string& program, const fs::path& output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SystemError(error, "cannot start " + program);
  return pid;
}

/// The files of trials, and the commits that they wait for.
class Trials {
 public:
  Trials(const std::string& program, const fs::path& folder) : program_(program), folder_(folder), commits_(folder) {}

  void Run(int trials, int parallel) {
    int started = 0;
    while (started < trials || !running_.empty()) {
      commits_.Commit();
      for (; started < trials && std::ssize(running_) < parallel; ++started) Start(started);
      AwaitSome();
    }
    commits_.Commit();
  }

 private:
  void Start(int trial) {
    const auto attempt = folder_ / fmt::format("{:05}", trial) / "attempt-1";
    MakeDirectories(attempt.parent_path());
    WriteFile(attempt.parent_path() / "plan.json", std::string(300, ' '));
    for (const auto& made : {attempt, attempt.parent_path() / "checkpoints", attempt.parent_path() / "outputs"}) {
      MakeDirectories(made);
    }
    running_.emplace(Spawn(program_, attempt / "rank-00000.log"), attempt);
  }

  /// All that have ended by now, at least one.
  void AwaitSome() {
    for (pid_t pid = ::waitpid(-1, nullptr, 0); pid > 0; pid = ::waitpid(-1, nullptr, WNOHANG)) {
      const auto attempt = running_.extract(pid).mapped();
      WriteFile(attempt / "rank-00000.exit", "0 0\n");
      WriteFile(attempt / "metrics.jsonl", std::string(80, ' '));
    }
  }

  const std::string& program_;
  const fs::path& folder_;
  SqliteCommits commits_;
  std::map<pid_t, fs::path> running_;
};

}  // namespace

double BareSpawnRate(const std::string& program, int processes, int parallel) {
  return processes / SecondsOf([&] {
           for (int started = 0; started < std::min(parallel, processes); ++started) Spawn(program, "/dev/null");
           for (int ended = 1; ended <= processes; ++ended) {
             ::waitpid(-1, nullptr, 0);
             if (ended + parallel <= processes) Spawn(program, "/dev/null");
           }
         });
}

double SpawnRateWithFiles(const std::string& program, const fs::path& folder, int processes, int parallel) {
  MakeDirectories(folder);
  return processes / SecondsOf([&] { Trials(program, folder).Run(processes, parallel); });
}

}  // namespace slipway::bench
