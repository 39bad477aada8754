#include "ensemble/manager/crash_point.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace slipway::ensemble {
namespace {

struct Wanted {
  std::string name;
  int left = 1;
};

Wanted ReadSwitch() {
  const char* text = std::getenv("SLIPWAY_CRASH_AT");
  if (text == nullptr) return {};
  const std::string wanted = text;
  const auto colon = wanted.find(':');
  if (colon == std::string::npos) return {wanted, 1};
  return {wanted.substr(0, colon), std::atoi(wanted.c_str() + colon + 1)};
}

}  // namespace

const std::vector<std::string>& CrashPoints() {
  static const std::vector<std::string> names = {"before_tell_commit",   "before_claim_commit", "before_stop_commit",
                                                 "after_tell_commit",    "after_claim_commit",  "after_stop_commit",
                                                 "after_answer_commit",  "after_stop",          "after_prepare",
                                                 "after_running_commit", "after_release"};
  return names;
}

void CrashPoint(std::string_view name) {
  assert(std::ranges::find(CrashPoints(), name) != CrashPoints().end());
  static Wanted wanted = ReadSwitch();
  if (wanted.name != name || --wanted.left > 0) return;
  ::kill(::getpid(), SIGKILL);
}

}  // namespace slipway::ensemble
