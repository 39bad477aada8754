/// What slipway-gpus measures, for a manager that must not wait for it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/event_loop.h"
#include "launcher/ranks/local/gpu_helper.h"
#include "launcher/run/context/gpu_meter.h"

namespace slipway::launcher {

struct GpuPatience {
  std::chrono::milliseconds first{60'000};  ///< the driver may first wake its GPUs
  std::chrono::milliseconds next{10'000};   ///< an answer comes each second
};

class GpuWatch {
 public:
  using Report = std::function<void(const std::string& reason)>;

  /// Starts the process if there is a name, and NVML. If it fails or does not answer in time, it is ended, and `report`
  /// is called once.
  GpuWatch(EventLoop& loop, const GpusToMeasure& gpus, Report report, GpuPatience patience = {});
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  ~GpuWatch();

  /// As last answered.
  const GpuSums& sums() const { return sums_; }
  /// Takes a last answer, if one comes at once.
  void Finish();

 private:
  void Start(const GpusToMeasure& gpus);
  void Read();
  void Take(const std::string& answer);
  void Check();
  void CheckInTime();
  void Leave();
  void GiveUp(const std::string& why);

  EventLoop& loop_;
  Report report_;
  GpuPatience patience_;
  GpuSums sums_;
  std::unique_ptr<GpuHelper> helper_;
  bool has_answered_ = false;
  SteadyTime heard_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
