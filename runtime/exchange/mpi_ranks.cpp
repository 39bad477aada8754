#include "runtime/exchange/mpi_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/collectives/pieces.h"
#include "runtime/device/stream.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"
#include "runtime/group/mpi_gpu_support.h"
#include "runtime/group/mpi_type.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kMostAtOnce = 1 << 30;  ///< elements: MPI's counts are ints

void RequireSupport(const DevicePlace& place) {
  const bool amd = place.driver->hip() != nullptr;
  const auto support = AskMpiForGpuSupport(amd ? GpuMaker::kAmd : GpuMaker::kNvidia);
  if (support.takes) return;
  const auto why = support.answered.empty() ? "nothing of it says so" : fmt::format("{} says no", support.answered);
  throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                     fmt::format("this MPI does not take memory of GPUs ({}): load one that was built for {}, or set "
                                 "gpu_exchange to auto",
                                 why, amd ? "ROCm" : "CUDA"));
}

}  // namespace

bool MpiRanks::Knows(slipway_dtype dtype) { return MpiTypeOf(dtype) != MPI_DATATYPE_NULL; }

std::unique_ptr<MpiRanks> MpiRanks::Connect(const DevicePlace& place, Communicator& ranks) {
  OnAllRanks(ranks, [&] {
    if (place.driver->memory() == nullptr) {
      throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                         "the driver is too old for an exchange by MPI: update it, or set gpu_exchange to auto");
    }
    if (!ranks.alone()) RequireSupport(place);
  });
  auto own = ranks.Duplicate(ranks.waiter());
  std::unique_ptr<MpiRanks> made;
  OnAllRanks(ranks, [&] { made.reset(new MpiRanks(place, ranks, std::move(own))); });
  if (!OnEveryRank(ranks, made->Works())) {
    throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                       "this MPI says that it takes memory of GPUs, and gives wrong sums of it: set gpu_exchange to "
                       "auto");
  }
  return made;
}

MpiRanks::MpiRanks(const DevicePlace& place, Communicator& ranks, std::unique_ptr<Communicator> own)
    : place_(place), ranks_(ranks), own_(std::move(own)) {
  int level = MPI_THREAD_SINGLE;
  if (!own_->alone()) MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) calls_.emplace();
}

/// MPI cannot cancel a call: its communicator is left as it is, too.
MpiRanks::~MpiRanks() {
  if (calls_ && calls_->abandoned()) static_cast<void>(own_.release());
}

bool MpiRanks::Works() {
  std::array<double, 64> values;
  values.fill(ranks_.rank() + 1);
  const auto bytes = sizeof values;
  std::optional<DeviceBlock> block;
  std::optional<DeviceStream> stream;
  OnAllRanks(ranks_, [&] {
    const InContext here(place_);
    block.emplace(place_, bytes);
    stream.emplace(place_);
    stream->CopyToDevice(block->data(), values.data(), bytes);
    stream->Synchronize();
  });
  Parting([&] { AddUp(block->data(), static_cast<std::int64_t>(values.size()), SLIPWAY_FLOAT64); });
  OnAllRanks(ranks_, [&] {
    const InContext here(place_);
    stream->CopyToCpu(values.data(), block->data(), bytes);
    stream->Synchronize();
  });
  const double sum = ranks_.size() * (ranks_.size() + 1) / 2.0;
  return std::ranges::all_of(values, [sum](double value) { return value == sum; });
}

void MpiRanks::AddUp(char* data, std::int64_t count, slipway_dtype dtype) {
  if (own_->alone()) return;
  for (std::int64_t first = 0; first < count; first += kMostAtOnce) {
    char* at = data + BytesOf(first, SizeOf(dtype));
    const auto part = static_cast<int>(std::min(kMostAtOnce, count - first));
    const auto add_up = [place = place_, at, part, type = MpiTypeOf(dtype), communicator = own_->handle()] {
      const BesideCaptures beside(place.driver);
      const InContext here(place);
      CheckMpi(MPI_Allreduce(MPI_IN_PLACE, at, part, type, MPI_SUM, communicator), "MPI_Allreduce of memory of a GPU");
    };
    if (calls_) {
      calls_->Run(add_up, ranks_.waiter(), [this] { return ranks_.JobRanksOfOthers(); });
    } else {
      add_up();
    }
  }
}

}  // namespace slipway::runtime
