// A disk whose syncs and renames take their time, each another one: to be preloaded.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

void Dawdle() {
  static std::atomic<unsigned> turn{0};
  constexpr long kStep = 3'000'000;  // nanoseconds
  const timespec pause{0, static_cast<long>(turn++ % 8) * kStep};
  nanosleep(&pause, nullptr);
}

template <class Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int fsync(int file) {
  Dawdle();
  return Next<int (*)(int)>("fsync")(file);
}

int fdatasync(int file) {
  Dawdle();
  return Next<int (*)(int)>("fdatasync")(file);
}

int rename(const char* from, const char* to) noexcept {
  Dawdle();
  return Next<int (*)(const char*, const char*)>("rename")(from, to);
}
}
