#include "launcher/cli/doctor/pinned_copies.h"

#include <functional>

#include "launcher/cli/doctor/copy_speed.h"
#include "runtime/device/stream.h"

namespace slipway::launcher {
namespace {

/// Copies between the same memory of the CPU and of the GPU, on a stream for each way.
class CopyBench {
 public:
  CopyBench(const runtime::DevicePlace& place, char* on_cpu)
      : on_cpu_(on_cpu), on_gpu_(place, kCopiedBytes), to_gpu_(place), from_gpu_(place) {}

  CopySpeeds Measure() {
    constexpr auto kHalf = kCopiedBytes / 2;
    const auto write = [this](std::size_t bytes) { to_gpu_.CopyToDevice(on_gpu_.data(), on_cpu_, bytes); };
    const auto read = [this](std::size_t first) {
      from_gpu_.CopyToCpu(on_cpu_ + first, on_gpu_.data() + first, kCopiedBytes - first);
    };
    CopySpeeds speeds;
    speeds.to_gpu = FastestOf([&] { write(kCopiedBytes); });
    speeds.from_gpu = FastestOf([&] { read(0); });
    speeds.both_ways = FastestOf([&] {
      write(kHalf);
      read(kHalf);
    });
    return speeds;
  }

 private:
  /// `copy` queues copies of kCopiedBytes bytes.
  double FastestOf(const std::function<void()>& copy) {
    return FastestCopy([&] {
      copy();
      to_gpu_.Synchronize();
      from_gpu_.Synchronize();
    });
  }

  char* on_cpu_;
  runtime::DeviceBlock on_gpu_;
  runtime::DeviceStream to_gpu_;
  runtime::DeviceStream from_gpu_;
};

}  // namespace

void MeasureCopies(const runtime::DevicePlace& place, GpuFacts& gpu) {
  const runtime::InContext here(place);
  std::vector<char> memory(kCopiedBytes);
  const auto& driver = *place.driver;
  if (const int code = driver.cuMemHostRegister(memory.data(), memory.size(), 0); code != 0) {
    gpu.no_pinning = Refusal{code, driver.NameOf(code)};
    return;
  }
  try {
    gpu.copies = CopyBench(place, memory.data()).Measure();
  } catch (const runtime::DeviceError& error) {
    gpu.no_copies = Refusal{error.code(), driver.NameOf(error.code())};
  }
  driver.cuMemHostUnregister(memory.data());
}

}  // namespace slipway::launcher
