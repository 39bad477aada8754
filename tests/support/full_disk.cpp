// A disk that is full once: to be preloaded. FULL_DISK names a file and a number, "batch_job.json 2": the second rename
// to that name in this process fails.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

namespace {

bool IsNow(const char* target) {
  static std::atomic<long> turn{0};
  const char* order = getenv("FULL_DISK");
  const char* number = order == nullptr ? nullptr : strchr(order, ' ');
  const char* name = strrchr(target, '/');
  if (number == nullptr || name == nullptr) return false;
  const auto length = static_cast<size_t>(number - order);
  if (strncmp(name + 1, order, length) != 0 || name[1 + length] != '\0') return false;
  return ++turn == strtol(number, nullptr, 10);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (IsNow(to)) {
    errno = ENOSPC;
    return -1;
  }
  return reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"))(from, to);
}
