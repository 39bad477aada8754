#include "launcher/cli/doctor/gpu_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/clock.h"
#include "core/units.h"
#include "runtime/device/stream.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kCopiedBytes = 64u << 20;

/// Bytes a second, of the fastest of four rounds: the first one wakes the link. `copy` copies kCopiedBytes bytes and
/// waits for them.
double FastestCopy(const std::function<void()>& copy) {
  constexpr int kRounds = 4;
  double fastest = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto began = SystemClock().Steady();
    copy();
    const double took = Seconds(SystemClock().Steady() - began).count();
    fastest = std::max(fastest, kCopiedBytes / std::max(took, 1e-9));
  }
  return fastest;
}

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

constexpr int kMostGpus = 8;

/// Words that no other pair copies: memory may still hold those of an earlier one.
std::vector<std::uint32_t> WordsOfPair(int from) {
  std::vector<std::uint32_t> words(kCopiedBytes / sizeof(std::uint32_t));
  auto word = static_cast<std::uint32_t>(from);
  for (auto& each : words) each = word += 0x9E3779B9;
  return words;
}

std::vector<std::uint32_t> WordsOn(const runtime::DevicePlace& place, const runtime::DeviceBlock& block) {
  std::vector<std::uint32_t> words(kCopiedBytes / sizeof(std::uint32_t));
  const runtime::InContext here(place);
  runtime::DeviceStream stream(place);
  stream.CopyToCpu(words.data(), block.data(), kCopiedBytes);
  stream.Synchronize();
  return words;
}

/// Without it the driver copies through the CPU's memory.
void ReachPeer(const CudaDriver& cuda, const runtime::DevicePlace& place, const runtime::DevicePlace& peer) {
  const runtime::InContext here(place);
  place.driver->Check(cuda.ReachContext(peer.context), "cuCtxEnablePeerAccess");
}

/// Errors: DeviceError.
void CopyBetween(const CudaDriver& cuda, const runtime::DevicePlace& from, const runtime::DevicePlace& to,
                 PeerCopy& copy) {
  ReachPeer(cuda, from, to);
  ReachPeer(cuda, to, from);
  const runtime::DeviceBlock source(from, kCopiedBytes);
  const runtime::DeviceBlock target(to, kCopiedBytes);
  const auto words = WordsOfPair(copy.from);
  {
    const runtime::InContext here(from);
    runtime::DeviceStream sending(from);
    sending.CopyToDevice(source.data(), words.data(), kCopiedBytes);
    sending.Synchronize();
    copy.bytes_per_s = FastestCopy([&] {
      const int code =
          cuda.CopyToContext(runtime::AddressOf(target.data()), to.context, runtime::AddressOf(source.data()),
                             from.context, kCopiedBytes, sending.handle());
      from.driver->Check(code, "cuMemcpyPeerAsync");
      sending.Synchronize();
    });
  }
  copy.is_wrong = WordsOn(to, target) != words;
}

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

std::vector<std::pair<int, int>> PairsToMeasure(const GpuExchangeFacts& facts) {
  const int count = std::min(static_cast<int>(facts.gpus.size()), kMostGpus);
  const auto can_be_used = [&](int gpu) { return !facts.gpus[static_cast<std::size_t>(gpu)].no_context; };
  std::vector<std::pair<int, int>> pairs;
  for (int from = 0; count > 1 && from < count; ++from) {
    const int to = (from + 1) % count;
    const std::pair<int, int> both = std::minmax({from, to});
    const bool reach = std::ranges::find(facts.apart, both) == facts.apart.end();
    if (reach && can_be_used(from) && can_be_used(to)) pairs.emplace_back(from, to);
  }
  return pairs;
}

std::vector<PeerCopy> MeasurePeerCopies(const CudaDriver& cuda, const runtime::Driver& driver,
                                        const std::vector<std::pair<int, int>>& pairs) {
  std::vector<PeerCopy> copies;
  if (!cuda.has_peer_copies()) return copies;
  for (const auto& [from, to] : pairs) {
    PeerCopy copy{.from = from, .to = to};
    try {
      CopyBetween(cuda, runtime::PlaceOn(driver, from), runtime::PlaceOn(driver, to), copy);
    } catch (const runtime::DeviceError& error) {
      copy.failed = Refusal{error.code(), driver.NameOf(error.code())};
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace slipway::launcher
