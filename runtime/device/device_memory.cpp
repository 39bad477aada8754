#include "runtime/device/device_memory.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace slipway::runtime {
namespace {

// CU_POINTER_ATTRIBUTE_* of cuda.h; HIP has the same numbers.
constexpr int kContext = 1;
constexpr int kMemoryType = 2;
constexpr int kIsManaged = 8;
constexpr int kDeviceOrdinal = 9;
constexpr int kRangeStart = 11;

// Codes of cuda.h.
constexpr int kNotInitialized = 3;   // CUDA_ERROR_NOT_INITIALIZED
constexpr int kInvalidDevice = 101;  // CUDA_ERROR_INVALID_DEVICE

/// The driver answers with an error for memory that it does not know: the processor's own.
template <class Answer>
std::optional<Answer> Ask(const Driver& driver, int attribute, const void* data) {
  Answer answer{};
  const int code = driver.Try([&] { return driver.cuPointerGetAttribute(&answer, attribute, AddressOf(data)); });
  return code == 0 ? std::optional(answer) : std::nullopt;
}

bool IsManaged(const Driver& driver, const void* data) {
  return Ask<unsigned>(driver, kIsManaged, data).value_or(0) != 0;
}

bool IsDeviceMemory(const Driver& driver, const void* data) {
  return Ask<unsigned>(driver, kMemoryType, data) == driver.device_memory_type() && !IsManaged(driver, data);
}

/// The driver of which that is true; null: none.
const Driver* DriverOf(const void* data, bool (*is_its_memory)(const Driver&, const void*)) {
  if (data == nullptr) return nullptr;
  const auto* driver = Driver::Loaded();
  if (driver == nullptr || is_its_memory(*driver, data)) return driver;
  const auto* other = Driver::HipBesideCuda();
  return other != nullptr && is_its_memory(*other, data) ? other : nullptr;
}

/// What the program can mend.
void RequireDevice(int code, int ordinal) {
  if (code == kNotInitialized) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "the driver of the GPU has not been started: use CUDA before this call");
  }
  if (code == kInvalidDevice) {
    throw RuntimeError(
        SLIPWAY_ERROR_ARGUMENT,
        fmt::format("this process sees no GPU {}: they count from 0; CUDA_VISIBLE_DEVICES may hide some", ordinal));
  }
}

}  // namespace

std::optional<DevicePlace> PlaceOf(const void* data) {
  const auto* driver = DriverOf(data, IsDeviceMemory);
  if (driver == nullptr) return std::nullopt;
  driver->RequireComplete();
  const int ordinal = Ask<int>(*driver, kDeviceOrdinal, data).value_or(0);
  void* context = driver->hip() == nullptr ? Ask<void*>(*driver, kContext, data).value_or(nullptr) : nullptr;
  return context != nullptr ? DevicePlace{driver, context, ordinal} : PlaceOn(*driver, ordinal);
}

std::optional<DevicePlace> ManagedPlaceOf(const void* data) {
  const auto* driver = DriverOf(data, IsManaged);
  if (driver == nullptr) return std::nullopt;
  driver->RequireComplete();
  return PlaceOn(*driver, Ask<int>(*driver, kDeviceOrdinal, data).value_or(0));
}

std::optional<DeviceAddress> StartOfAllocation(const Driver& driver, const void* data) {
  return Ask<DeviceAddress>(driver, kRangeStart, data);
}

bool AreOfOneAllocation(const Driver& driver, const void* one, const void* other) {
  const auto start = StartOfAllocation(driver, one);
  return start && start == StartOfAllocation(driver, other);
}

DevicePlace PlaceOn(const Driver& driver, int ordinal) {
  static std::mutex mutex;
  static std::map<int, void*> contexts;
  if (driver.hip() != nullptr) return {&driver, nullptr, ordinal};
  const std::lock_guard lock(mutex);
  const auto known = contexts.find(ordinal);
  if (known != contexts.end()) return {&driver, known->second, ordinal};
  if (driver.memory() == nullptr) {
    throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                       "the driver of the GPU has no function cuDevicePrimaryCtxRetain: it is too old; update the "
                       "driver, or copy the tensors to the CPU's memory first");
  }
  void* context = nullptr;
  const int code = driver.memory()->cuDevicePrimaryCtxRetain(&context, ordinal);
  RequireDevice(code, ordinal);
  driver.Check(code, "cuDevicePrimaryCtxRetain");
  contexts.emplace(ordinal, context);
  return {&driver, context, ordinal};
}

std::string BusOf(const DevicePlace& place) {
  char text[32] = "";  // a CUdevice is the ordinal, as in HIP
  const int code = place.driver->memory()->cuDeviceGetPCIBusId(text, sizeof text, place.ordinal);
  place.driver->Check(code, "cuDeviceGetPCIBusId");
  return text;
}

void RequireCpuMemory(const void* data, std::string_view what) {
  if (!PlaceOf(data)) return;
  throw RuntimeError(SLIPWAY_ERROR_DEVICE_MEMORY,
                     fmt::format("{} lies in the memory of a GPU: copy it to the CPU's memory first", what));
}

}  // namespace slipway::runtime
