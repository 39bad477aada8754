#include "launcher/cli/doctor/direct_copies.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/memory/peer_copies.h"

namespace slipway::launcher {
namespace {

constexpr const char* kDirectCopies = "direct copies";

/// Runs `action` in a child; its result is the exit status.
template <class Action>
pid_t InChild(Action action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  return child;
}

int StatusOfChild(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

}  // namespace

DirectCopiesFacts ProbeDirectCopies() {
  static const long word = 41;  // at the same address in all of them
  const pid_t owner = InChild([] { return ::pause(); });
  if (owner < 0) return {false, errno};
  const pid_t reader = InChild([&] {
    long read = 0;
    const runtime::PeerAddress there{owner, reinterpret_cast<std::uintptr_t>(&word)};
    return runtime::ReadFromPeer(there, &read, sizeof read) && read == word ? 0 : errno != 0 ? errno : EIO;
  });
  const int reason = reader < 0 ? errno : StatusOfChild(reader);
  ::kill(owner, SIGKILL);
  StatusOfChild(owner);
  return {reason == 0, reason};
}

Findings Judge(const DirectCopiesFacts& facts) {
  if (facts.possible) return {Ok(kDirectCopies, "ranks of a node may copy from each other's memory")};
  return {Warn(kDirectCopies,
               fmt::format("ranks of a node may not copy from each other's memory ({}): large messages in ordinary "
                           "memory take longer",
                           std::strerror(facts.reason)),
               "allow it: sysctl kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE in a container")};
}

}  // namespace slipway::launcher
