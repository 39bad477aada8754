#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace {

const char in_this_library = 0;

/// The entry's name in the table that dlsym reads; null where the library has no such entry.
char* NameInTable(const char* entry) {
  Dl_info here{};
  Dl_info found{};
  if (::dladdr(&in_this_library, &here) == 0) return nullptr;
  void* library = ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* address = library == nullptr ? nullptr : ::dlsym(library, entry);
  if (address == nullptr || ::dladdr(address, &found) == 0) return nullptr;
  if (found.dli_sname == nullptr || std::strcmp(found.dli_sname, entry) != 0) return nullptr;
  return const_cast<char*>(found.dli_sname);
}

}  // namespace

#pragma GCC visibility push(default)

void fake_gpu_hide(const char* entry) {
  char* name = NameInTable(entry);
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(name) & ~(page_bytes - 1));
  if (name == nullptr || ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
    std::fprintf(stderr, "fake_gpu_hide: %s cannot be hidden\n", entry);
    std::abort();
  }
  *name = '-';
}

#pragma GCC visibility pop
