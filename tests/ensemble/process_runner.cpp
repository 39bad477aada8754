#include "tests/ensemble/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"

namespace slipway::ensemble {
namespace {

constexpr int kGate = 3;

void Append(const std::filesystem::path& folder, const std::string& line) {
  const auto fd = OpenFile(folder / "log", O_WRONLY | O_APPEND | O_CREAT);
  WriteAll(fd.get(), line + "\n", "log");
}

/// What the trial wrote as its last act.
std::optional<double> DoneValue(const std::filesystem::path& folder, TrialNumber trial, int attempt) {
  std::istringstream log(ReadFileIfPresent(folder / "log").value_or(""));
  const std::string prefix = fmt::format("done {} {} ", trial, attempt);
  for (std::string line; std::getline(log, line);) {
    if (line.starts_with(prefix)) return std::stod(line.substr(prefix.size()));
  }
  return std::nullopt;
}

/// Every third trial is stubborn: it goes on without its manager, so that only EndOrphan ends it.
bool Work(TrialNumber trial) {
  if (trial % 3 == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  }
  pollfd gate{kGate, POLLIN, 0};
  return ::poll(&gate, 1, static_cast<int>(2 + trial % 5)) == 0;
}

}  // namespace

ProcessIdentity ProcessRunner::Prepare(const TrialStart& start) {
  int ends[2];
  CheckErrno(::pipe2(ends, O_CLOEXEC), "cannot create a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  SpawnOptions options;
  options.argv = {"/proc/self/exe",
                  "trial",
                  folder_.string(),
                  std::to_string(start.trial),
                  std::to_string(start.attempt),
                  start.parameters.at("lr").dump()};
  options.inherited = {{read_end.get(), kGate}};
  Running running{start.attempt, ChildProcess::Spawn(options), std::move(write_end)};
  const auto identity = IdentityOf(running.process.pid());
  running_.insert_or_assign(start.trial, std::move(running));
  return identity;
}

void ProcessRunner::Release(TrialNumber trial) { WriteAll(running_.at(trial).gate.get(), "!", "gate"); }

void ProcessRunner::Stop(TrialNumber trial, StopReason) {
  if (const auto found = running_.find(trial); found != running_.end()) found->second.process.Signal(SIGTERM);
}

void ProcessRunner::EndOrphan(const ProcessIdentity& identity) {
  while (IsAlive(identity)) {
    ::kill(static_cast<pid_t>(identity.pid), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<TrialEvent> ProcessRunner::Recover(TrialNumber trial, int attempt) {
  const auto value = DoneValue(folder_, trial, attempt);
  if (!value) return {};
  return {TrialMetric{trial, attempt, 1, {}, "accuracy", *value}, TrialEnded{trial, attempt, {}, ""}};
}

std::vector<TrialEvent> ProcessRunner::Wait(std::chrono::nanoseconds limit) {
  std::vector<pollfd> fds;
  for (const auto& [trial, running] : running_) fds.push_back({running.process.pidfd(), POLLIN, 0});
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  ::poll(fds.data(), fds.size(), static_cast<int>(limit_ms));
  std::vector<TrialEvent> events;
  for (auto entry = running_.begin(); entry != running_.end();) {
    auto& [trial, running] = *entry;
    const auto status = running.process.TryWait();
    if (!status) {
      ++entry;
      continue;
    }
    const auto value = DoneValue(folder_, trial, running.attempt);
    if (value) events.push_back(TrialMetric{trial, running.attempt, 1, {}, "accuracy", *value});
    events.push_back(TrialEnded{trial, running.attempt, *status, ""});
    entry = running_.erase(entry);
  }
  return events;
}

int RunTrial(const std::filesystem::path& folder, TrialNumber trial, int attempt, const std::string& value) {
  char go = 0;
  if (::read(kGate, &go, 1) != 1) return 75;
  Append(folder, fmt::format("start {} {}", trial, attempt));
  if (!Work(trial)) return 75;
  Append(folder, fmt::format("done {} {} {}", trial, attempt, value));
  return 0;
}

}  // namespace slipway::ensemble
