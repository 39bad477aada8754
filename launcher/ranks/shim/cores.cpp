#include "launcher/ranks/shim/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

namespace slipway::shim {
namespace {

/// Reads a number and moves behind it; -1 when there is none, or no set can hold it.
int TakeNumber(const char** text) {
  if (**text < '0' || **text > '9') return -1;
  char* end = nullptr;
  const long number = strtol(*text, &end, 10);
  *text = end;
  return number < CPU_SETSIZE ? static_cast<int>(number) : -1;
}

bool Parse(const char* list, cpu_set_t* set) {
  CPU_ZERO(set);
  while (true) {
    const int first = TakeNumber(&list);
    const int last = *list == '-' ? TakeNumber(&++list) : first;
    if (first < 0 || last < first) return false;
    for (int core = first; core <= last; ++core) CPU_SET(core, set);
    if (*list == '\0') return true;
    if (*list++ != ',') return false;
  }
}

}  // namespace

int BindTo(const char* list) {
  cpu_set_t set;
  if (!Parse(list, &set)) return EINVAL;
  return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

}  // namespace slipway::shim
