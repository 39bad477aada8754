// A stand-in for libcuda.so.1 that answers the one question the runtime asks, as the CUDA Driver API documents it. Its
// "device" and its managed memory are arrays of its own.

#include <cstdint>

namespace {

constexpr int kMemoryType = 2;
constexpr int kIsManaged = 8;
constexpr int kInvalidValue = 1;
constexpr unsigned kDevice = 2;

bool LiesIn(const float (&memory)[4], std::uintptr_t pointer) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return pointer >= begin && pointer < begin + sizeof memory;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) float fake_device_memory[4] = {1, 2, 3, 4};
__attribute__((visibility("default"))) float fake_managed_memory[4] = {1, 2, 3, 4};

__attribute__((visibility("default"))) int cuPointerGetAttribute(void* answer, int attribute, std::uintptr_t pointer) {
  const bool managed = LiesIn(fake_managed_memory, pointer);
  if (!managed && !LiesIn(fake_device_memory, pointer)) return kInvalidValue;
  if (attribute != kMemoryType && attribute != kIsManaged) return kInvalidValue;
  *static_cast<unsigned*>(answer) = attribute == kMemoryType ? kDevice : (managed ? 1u : 0u);
  return 0;
}
}
