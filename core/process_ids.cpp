#include "core/process_ids.h"

#include <filesystem>

#include "core/lines.h"

namespace slipway {

std::vector<pid_t> ProcessIds() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (ParseNumber(entry->path().filename().native(), pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace slipway
