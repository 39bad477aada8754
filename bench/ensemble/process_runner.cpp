#include "bench/ensemble/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;

constexpr int kChannel = 3;
constexpr int kLeft = 75;  // exit status of a trial whose manager is gone
constexpr const char* kMetric = "accuracy";

struct Step {
  int attempt = 0;
  int step = 0;
  double value = 0;
};

fs::path StepsFile(const fs::path& folder, TrialNumber trial) { return folder / fmt::format("{}.steps", trial); }

/// A line that was cut off by a kill does not count.
std::vector<Step> StepsOf(const fs::path& folder, TrialNumber trial) {
  std::istringstream text(ReadFileIfPresent(StepsFile(folder, trial)).value_or(""));
  std::vector<Step> steps;
  for (std::string line; std::getline(text, line) && !text.eof();) {
    std::istringstream words(line);
    Step step;
    if (words >> step.attempt >> step.step >> step.value) steps.push_back(step);
  }
  return steps;
}

bool IsDone(const fs::path& folder, TrialNumber trial, int attempt) {
  const auto log = "\n" + ReadFileIfPresent(folder / "log").value_or("");
  return log.find(fmt::format("\ndone {} {}\n", trial, attempt)) != std::string::npos;
}

void Append(const fs::path& path, const std::string& line) {
  const auto fd = OpenFile(path, O_WRONLY | O_APPEND | O_CREAT);
  WriteAll(fd.get(), line + "\n", path);
}

/// One attempt, on its own side.
class Trial {
 public:
  explicit Trial(const std::vector<std::string>& words)
      : folder_(words.at(2)),
        number_(std::stoll(words.at(3))),
        attempt_(std::stoi(words.at(4))),
        steps_(std::stoi(words.at(5))),
        stubborn_(words.at(6) == "1" && number_ % 3 == 1),
        parameters_(Json::parse(words.at(7))) {}

  int Run() {
    if (!MayGoOn()) return kLeft;
    const auto lock = FileLock::TryAcquire(folder_ / fmt::format("{}.lock", number_), LockMode::kExclusive);
    Append(folder_ / "log", fmt::format("{} {} {}", lock ? "start" : "overlap", number_, attempt_));
    for (int step = FirstStep(); step <= steps_; ++step) {
      if (!Work() || !Tell(step)) return kLeft;
    }
    Append(folder_ / "log", fmt::format("done {} {}", number_, attempt_));
    return 0;
  }

 private:
  /// The last step is done again by an attempt that would have nothing to report.
  int FirstStep() const {
    int last = 0;
    for (const auto& step : StepsOf(folder_, number_)) last = std::max(last, step.step);
    return std::min(last + 1, steps_);
  }

  /// A few milliseconds.
  bool Work() const {
    pollfd channel{kChannel, POLLIN, 0};
    const bool alone = ::poll(&channel, 1, static_cast<int>(1 + number_ % 4)) > 0;
    return stubborn_ || !alone;
  }

  bool Tell(int step) const {
    const auto value = AccuracyOf(parameters_, step);
    Append(StepsFile(folder_, number_), fmt::format("{} {} {}", attempt_, step, value));
    const auto line = fmt::format("{} {}\n", step, value);
    (void)!::send(kChannel, line.data(), line.size(), MSG_NOSIGNAL);
    return MayGoOn() || stubborn_;
  }

  /// False when the manager is gone.
  static bool MayGoOn() {
    char go = 0;
    return ::read(kChannel, &go, 1) == 1;
  }

  fs::path folder_;
  TrialNumber number_;
  int attempt_;
  int steps_;
  bool stubborn_;
  Json parameters_;
};

}  // namespace

double AccuracyOf(const Json& parameters, int step) {
  double quality = parameters.at("kind") == "a" ? 1 : 0.9;
  for (const char* name : {"x", "y"}) quality -= std::pow(parameters.at(name).get<double>() - 0.3, 2);
  return quality * step / (step + 2);
}

ProcessIdentity ProcessRunner::Prepare(const TrialStart& start) {
  int ends[2];
  CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "cannot create a socket pair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnOptions options;
  options.argv = {"/proc/self/exe",
                  "trial",
                  folder_.string(),
                  std::to_string(start.trial),
                  std::to_string(start.attempt),
                  std::to_string(manner_.steps),
                  manner_.stubborn ? "1" : "0",
                  start.parameters.dump()};
  options.inherited = {{theirs.get(), kChannel}};
  Running running{start.attempt, ChildProcess::Spawn(options), std::move(ours)};
  const auto identity = IdentityOf(running.process.pid());
  running_.insert_or_assign(start.trial, std::move(running));
  return identity;
}

void ProcessRunner::Release(TrialNumber trial) { running_.at(trial).waits = true; }

void ProcessRunner::Stop(TrialNumber trial, StopReason) {
  const auto found = running_.find(trial);
  if (found == running_.end()) return;
  found->second.waits = false;
  found->second.process.Signal(SIGTERM);
}

void ProcessRunner::EndOrphan(const ProcessIdentity& identity) {
  while (IsAlive(identity)) {
    ::kill(static_cast<pid_t>(identity.pid), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<TrialEvent> ProcessRunner::Recover(TrialNumber trial, int attempt) {
  std::vector<TrialEvent> events;
  for (const auto& step : StepsOf(folder_, trial)) {
    if (step.attempt == attempt)
      events.push_back(MetricRecord{trial, attempt, kMetric, step.step, step.step, step.value});
  }
  if (IsDone(folder_, trial, attempt)) events.push_back(TrialEnded{trial, attempt, {}, ""});
  return events;
}

void ProcessRunner::LetGoOn() {
  for (auto& [trial, running] : running_) {
    if (std::exchange(running.waits, false)) (void)!::send(running.channel.get(), "!", 1, MSG_NOSIGNAL);
  }
}

/// What a trial has said since: at most one step, for it waits after each.
std::vector<TrialEvent> ProcessRunner::Heard(TrialNumber trial, Running& running) {
  char text[128];
  const auto length = ::recv(running.channel.get(), text, sizeof text, MSG_DONTWAIT);
  if (length <= 0) return {};
  std::istringstream words(std::string(text, static_cast<std::size_t>(length)));
  int step = 0;
  double value = 0;
  words >> step >> value;
  running.waits = true;
  return {MetricRecord{trial, running.attempt, kMetric, step, step, value}};
}

std::vector<TrialEvent> ProcessRunner::Wait(std::chrono::nanoseconds limit) {
  LetGoOn();
  std::vector<pollfd> fds;
  for (const auto& [trial, running] : running_) {
    fds.push_back({running.process.pidfd(), POLLIN, 0});
    fds.push_back({running.channel.get(), POLLIN, 0});
  }
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  ::poll(fds.data(), fds.size(), static_cast<int>(limit_ms));
  std::vector<TrialEvent> events;
  for (auto entry = running_.begin(); entry != running_.end();) {
    auto& [trial, running] = *entry;
    const auto status = running.process.TryWait();
    for (auto& event : Heard(trial, running)) events.push_back(std::move(event));
    if (status) events.push_back(TrialEnded{trial, running.attempt, *status, ""});
    entry = status ? running_.erase(entry) : std::next(entry);
  }
  return events;
}

int RunTrial(const std::vector<std::string>& words) { return Trial(words).Run(); }

}  // namespace slipway::ensemble
