/// Allreduces of memory of the fake GPU whose ways are chosen from times that a test gives.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/exchange/allreduce_on_device.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {

inline constexpr std::int64_t kCrossing = 64 << 10;  ///< bytes
inline constexpr int kUnhandledCudaError = 1;        ///< of NCCL

/// One way is the fastest for all sizes.
inline std::vector<runtime::AllreduceTime> TimesWonBy(runtime::CombineWay way) {
  using enum runtime::CombineWay;
  if (way == kStaged) return {{kCrossing, kStaged, 1e-6}, {kCrossing, kDirect, 2e-6}};
  return {{kCrossing, kStaged, 2e-6}, {kCrossing, way, 1e-6}};
}

inline runtime::TeamSettings Named(runtime::GpuExchange way) {
  runtime::TeamSettings settings;
  settings.gpu_exchange = way;
  return settings;
}

inline runtime::TeamSettings WithAnyBits() {
  runtime::TeamSettings settings;
  settings.any_bits = true;
  return settings;
}

/// A group of all ranks, on one node or on pretended ones of `per_node` ranks.
class AllreducesOfGroup : public OnDevice {
 protected:
  explicit AllreducesOfGroup(int per_node = 0) : test_(per_node), benches_(test_.memory.pool) {
    Select(test_.group, false);
  }
  void TearDown() override {
    if (all_) all_->Forget(test_.group);
    OnDevice::TearDown();
  }

  static void Select(runtime::Group& group, bool canonical, const std::string& algorithms = "") {
    group.SetSelection({runtime::AlgorithmTable::Default(group.placement()).With(algorithms), canonical});
  }
  void Use(runtime::AllreduceTimer measure, const runtime::TeamSettings& settings) {
    if (all_) all_->Forget(test_.group);
    all_.emplace(benches_, [this, measure = std::move(measure)](const runtime::DevicePlace& place,
                                                                std::span<const runtime::GpuAllreduce> ways,
                                                                runtime::Group& group) {
      ++measurements_;
      candidates_.clear();
      for (const auto& each : ways) candidates_.push_back(each.way);
      return measure(place, ways, group);
    });
    all_->Use(settings);
  }
  /// Nothing is measured: these are the times.
  void Give(const std::vector<runtime::AllreduceTime>& times, const runtime::TeamSettings& settings = {}) {
    Use([times](const auto&...) { return times; }, settings);
  }

  /// Of these values, over the ranks of `group`.
  std::vector<char> Combined(const std::vector<char>& values, const runtime::Reduction& reduction,
                             runtime::Group& group) {
    const auto count = static_cast<std::int64_t>(values.size() / runtime::SizeOf(reduction.dtype));
    GpuBuffer there(values.size());
    GpuStream stream;
    there.Fill(values.data(), stream.handle());
    all_->Allreduce(*runtime::PlaceOf(there.data()), there.data(), count, reduction, group, stream.handle());
    return there.Read(stream.handle());
  }
  /// The same; whether the result has the bits that the CPU gives.
  bool IsRight(std::vector<char> values, const runtime::Reduction& reduction, runtime::Group& group) {
    const auto result = Combined(values, reduction, group);
    const runtime::Piece piece{values.data(),
                               static_cast<std::int64_t>(values.size() / runtime::SizeOf(reduction.dtype))};
    runtime::Allreduce({.pieces = {&piece, 1}, .reduction = reduction}, group);
    return result == values;
  }
  Json Facts() { return all_->FactsOfAll(test_.group.communicator()); }

  TestGroup test_;
  runtime::Workbenches benches_;
  std::optional<runtime::DeviceAllreduces> all_;
  int measurements_ = 0;
  std::vector<runtime::CombineWay> candidates_;  ///< of the last measurement, besides the CPU
};

}  // namespace slipway::test
