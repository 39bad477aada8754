#include "tests/support/privileges.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "core/error.h"
#include "core/files.h"

namespace slipway::test {

namespace fs = std::filesystem;

pid_t InChild(const std::function<bool()>& body) {
  const pid_t child = CheckErrno(::fork(), "cannot fork");
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a failed test leaves no child behind
  try {
    ::_exit(body() ? 0 : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(2);
  }
}

bool Succeeded(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool AsOrdinaryUser(const std::function<bool()>& body) {
  constexpr uid_t kNobody = 65534;
  return Succeeded(InChild([&] {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return false;
    return body();
  }));
}

bool EnterOwnNamespaces() {
  constexpr int kOwn = CLONE_NEWNS | CLONE_NEWUTS;
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(kOwn) != 0) {
    if (::unshare(kOwn | CLONE_NEWUSER) != 0) return false;
    WriteFile("/proc/self/setgroups", "deny");
    WriteFile("/proc/self/uid_map", fmt::format("{} {} 1", user, user));
    WriteFile("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool MountSmallDisk(const fs::path& root, const char* options) {
  fs::create_directory(root);
  return EnterOwnNamespaces() && ::mount("slipway-test", root.c_str(), "tmpfs", 0, options) == 0;
}

}  // namespace slipway::test
