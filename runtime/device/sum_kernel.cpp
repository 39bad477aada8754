#include "runtime/device/sum_kernel.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/device/sum_ptx.h"

namespace slipway::runtime {
namespace {

constexpr std::array kDtypes = {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64, SLIPWAY_FLOAT16, SLIPWAY_BFLOAT16};
constexpr std::array kNames = {"slipway_sum_float32", "slipway_sum_float64", "slipway_sum_float16",
                               "slipway_sum_bfloat16"};

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 264;           ///< of one part: two for each multiprocessor of a large GPU
constexpr std::int64_t kElementsOfThread = 16;  ///< below it another block does not pay
constexpr unsigned kMostRows = 65535;           ///< of one launch: the limit of a grid's y

/// Rows of `1 + ranks` numbers: elements, and the addresses.
std::vector<std::uint64_t> RowsOf(std::span<const SumPart> parts) {
  std::vector<std::uint64_t> rows;
  for (const auto& part : parts) {
    rows.push_back(static_cast<std::uint64_t>(part.count));
    for (const char* address : part.at) rows.push_back(AddressOf(address));
  }
  return rows;
}

std::size_t BytesOfRow(int ranks) { return (1 + static_cast<std::size_t>(ranks)) * sizeof(std::uint64_t); }

}  // namespace

SumTable::SumTable(const DevicePlace& place, std::span<const SumPart> parts, DeviceStream& stream)
    : place_(place),
      ranks_(parts.empty() ? 0 : static_cast<int>(parts.front().at.size())),
      parts_(static_cast<unsigned>(parts.size())),
      memory_(place, parts.size() * BytesOfRow(ranks_)) {
  if (!parts.empty()) Write(parts, stream);
}

void SumTable::Write(std::span<const SumPart> parts, DeviceStream& stream) {
  largest_ = 0;
  for (const auto& part : parts) largest_ = std::max(largest_, part.count);
  const auto rows = RowsOf(parts);
  const InContext here(place_);
  stream.CopyToDevice(memory_.data(), rows.data(), rows.size() * sizeof rows[0]);
  stream.Synchronize();
}

const SumTable& SumTables::Of(const SumPart& part, const std::function<void()>& await_kernels) {
  const std::pair key(part.count, part.at);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() >= kMost) {
    await_kernels();
    std::swap(known_, spare_);  // which is empty: all of it has been used again
  }
  if (spare_.empty()) return known_.emplace(key, SumTable(place_, {&part, 1}, stream_)).first->second;
  auto node = spare_.extract(spare_.begin());
  node.key() = key;
  node.mapped().Write({&part, 1}, stream_);
  return known_.insert(std::move(node)).position->second;
}

SumKernel::SumKernel(const DevicePlace& place) : place_(place) {
  const InContext here(place);
  const auto& direct = *place.driver->direct();
  place.driver->Check(direct.cuModuleLoadData(&module_, kSumPtx), "cuModuleLoadData");
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    place.driver->Check(direct.cuModuleGetFunction(&functions_[i], module_, kNames[i]), "cuModuleGetFunction");
  }
}

/// A module ends with its context, at the end of the process.
const SumKernel* SumKernel::Of(const DevicePlace& place) {
  static std::mutex mutex;
  static auto* const known = new std::map<void*, std::unique_ptr<SumKernel>>;
  if (place.driver->direct() == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  const auto found = known->find(place.context);
  if (found != known->end()) return found->second.get();
  std::unique_ptr<SumKernel> made;
  try {
    made.reset(new SumKernel(place));
  } catch (const DeviceError& error) {
    if (error.status() == SLIPWAY_ERROR_OUT_OF_MEMORY) return nullptr;  // there may be some later
  }
  return known->emplace(place.context, std::move(made)).first->second.get();
}

bool SumKernel::Knows(slipway_dtype dtype) { return std::ranges::find(kDtypes, dtype) != kDtypes.end(); }

void SumKernel::Launch(const SumTable& table, slipway_dtype dtype, int ranks, const DeviceStream& stream) const {
  if (table.parts_ == 0 || table.largest_ == 0) return;
  const auto kind = static_cast<std::size_t>(std::ranges::find(kDtypes, dtype) - kDtypes.begin());
  int members = table.ranks_;
  float factor = 1.0F / static_cast<float>(ranks);
  double wide_factor = 1.0 / ranks;
  const auto wanted = (table.largest_ + kThreads * kElementsOfThread - 1) / (kThreads * kElementsOfThread);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(wanted, kMostBlocks));
  const InContext here(place_);
  for (unsigned first = 0; first < table.parts_; first += kMostRows) {
    auto address = AddressOf(table.memory_.data()) + first * BytesOfRow(table.ranks_);
    void* parameters[] = {&address, &members, &factor, &wide_factor};
    const auto rows = std::min(kMostRows, table.parts_ - first);
    place_.driver->Check(place_.driver->direct()->cuLaunchKernel(functions_[kind], blocks, rows, 1, kThreads, 1, 1, 0,
                                                                 stream.handle(), parameters, nullptr),
                         "cuLaunchKernel");
  }
}

}  // namespace slipway::runtime
