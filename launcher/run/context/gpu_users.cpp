#include "launcher/run/context/gpu_users.h"

#include <sys/stat.h>

#include "core/environment.h"
#include "core/process_identity.h"

namespace slipway::launcher {

/// A program may have overwritten its environment, as those do that change their title. Its parents have not.
bool BelongsToRun(pid_t process, const std::string& run) {
  for (; process > 1; process = ParentOf(process)) {
    const auto folder = Environment::OfProcess(process).Get("SLIPWAY_RUN_DIR").value_or("") + "/";
    if (folder.find("/" + run + "/") != std::string::npos) return true;
  }
  return false;
}

bool SeesNumbersOfDriver() {
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of Linux, the same on every machine
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 && facts.st_ino == kFirstNamespace;
}

}  // namespace slipway::launcher
