#include "runtime/exchange/cpu_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <cstdint>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

// From the CUDA driver's header, which is not needed for one question: CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
// CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_MEMORYTYPE_DEVICE.
using PointerQuestion = int (*)(void* answer, int attribute, std::uintptr_t pointer);
constexpr int kMemoryType = 2;
constexpr int kIsManaged = 8;
constexpr unsigned kDevice = 2;

/// Changes whenever a library is loaded.
unsigned long long LibrariesLoaded() {
  unsigned long long count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

/// The driver's function; null while the program has not loaded the driver, which it may do at any time.
PointerQuestion Driver() {
  static std::atomic<PointerQuestion> found{nullptr};
  static std::atomic<unsigned long long> looked_at{0};
  if (const auto known = found.load()) return known;
  const auto loaded = LibrariesLoaded();
  if (loaded == looked_at.load()) return nullptr;
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {  // kept: it must not go while we may ask
    found = reinterpret_cast<PointerQuestion>(::dlsym(driver, "cuPointerGetAttribute"));
  }
  looked_at = loaded;
  return found.load();
}

bool IsDeviceMemory(const void* data) {
  const auto ask = Driver();
  if (ask == nullptr || data == nullptr) return false;
  const auto pointer = reinterpret_cast<std::uintptr_t>(data);
  unsigned type = 0;
  unsigned managed = 0;
  // The driver answers with an error for memory that it does not know: the CPU's own.
  if (ask(&type, kMemoryType, pointer) != 0 || type != kDevice) return false;
  return ask(&managed, kIsManaged, pointer) != 0 || managed == 0;
}

}  // namespace

void RequireCpuMemory(const void* data, std::string_view what) {
  if (!IsDeviceMemory(data)) return;
  throw RuntimeError(SLIPWAY_ERROR_DEVICE_MEMORY,
                     fmt::format("{} lies in the memory of a GPU: copy it to the CPU's memory first", what));
}

}  // namespace slipway::runtime
