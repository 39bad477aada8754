#include "launcher/cli/doctor/check.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/process.h"
#include "core/unique_handle.h"

namespace slipway::launcher {
namespace {

/// How long a process that was killed is waited for.
constexpr auto kCheckReapPatience = std::chrono::milliseconds(200);

Findings LookSafely(const Check& check) try { return check.look(); } catch (const Error& error) {
  return {Fail(check.name, error.message(), error.next_step())};
} catch (const std::exception& error) {
  return {Fail(check.name, error.what(), "please report it")};
}

[[noreturn]] void BeChild(const Check& check, const UniqueFd& answer) {
  int status = 1;
  try {
    const auto list = ToJson(LookSafely(check));
    WriteAll(answer.get(), JsonText(list), "a pipe");
    status = 0;
  } catch (const std::exception&) {  // the parent finds no answer
  }
  ::_exit(status);
}

/// All that comes until the other end is closed; nothing when the deadline passes first.
std::optional<std::string> ReadUntil(const UniqueFd& pipe, SteadyTime deadline) {
  std::string text;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().Steady());
    pollfd watched{pipe.get(), POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&watched, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return {};
    char chunk[4096];
    const auto count = ::read(pipe.get(), chunk, sizeof chunk);
    if (count <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
  }
}

/// Nothing when it cannot be ended now.
std::optional<ExitStatus> Reap(pid_t child) {
  const auto deadline = SystemClock().Steady() + kCheckReapPatience;
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return ExitStatus::FromWait(status);
    if (SystemClock().Steady() >= deadline) return {};
    SystemClock().Sleep(std::chrono::milliseconds(1));
  }
}

Findings Late(const Check& check) {
  if (check.late) return {*check.late};
  return {Fail(check.name,
               fmt::format("this check did not come to its end in {}", FormatDuration(Seconds(check.deadline))),
               "something that it asks does not answer, often a file system or a server")};
}

Findings FindingsIn(const std::string& answer) {
  const auto list = Json::parse(answer, nullptr, false);
  return list.is_array() ? FindingsFromJson(list) : Findings();
}

Findings Hear(const Check& check, const UniqueFd& pipe, pid_t child) {
  const auto answer = ReadUntil(pipe, SystemClock().Steady() + check.deadline);
  if (!answer) ::kill(child, SIGKILL);
  const auto status = Reap(child);
  if (!answer) return Late(check);
  auto findings = FindingsIn(*answer);
  if (findings.empty()) {
    findings = {Fail(
        check.name,
        fmt::format("this check gave no answer: its process ended with {}", status ? status->Describe() : "no status"),
        "please report it")};
  }
  return findings;
}

}  // namespace

CheckResult Perform(const Check& check) {
  const auto began = SystemClock().Steady();
  auto pipe = MakePipe();
  const auto child = CheckErrno(::fork(), "cannot start a process");
  if (child == 0) BeChild(check, pipe.write);
  pipe.write.Reset();
  CheckResult result{check.name, Hear(check, pipe.read, child), {}};
  result.took = SystemClock().Steady() - began;
  return result;
}

}  // namespace slipway::launcher
