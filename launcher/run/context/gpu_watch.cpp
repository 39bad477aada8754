#include "launcher/run/context/gpu_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "core/log.h"
#include "core/units.h"
#include "launcher/ranks/local/nvml.h"

namespace slipway::launcher {
namespace {

constexpr auto kLastAnswerPatience = std::chrono::milliseconds(500);  // reading counters takes 4 ms for each GPU

}  // namespace

/// The run matters more than this.
GpuWatch::GpuWatch(EventLoop& loop, const GpusToMeasure& gpus, Report report, GpuPatience patience)
    : loop_(loop), report_(std::move(report)), patience_(patience), heard_(SystemClock().Steady()) {
  if (gpus.names.empty() || !HasNvml()) return;
  try {
    Start(gpus);
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
}

GpuWatch::~GpuWatch() { Leave(); }

void GpuWatch::Start(const GpusToMeasure& gpus) {
  std::vector<std::string> arguments{std::string(WordOf(gpus.what))};
  arguments.insert(arguments.end(), gpus.names.begin(), gpus.names.end());
  helper_ = std::make_unique<GpuHelper>(arguments);
  loop_.OnReadable(helper_->fd(), [this] { Read(); });
  CheckInTime();
}

void GpuWatch::Read() {
  if (const auto answer = helper_->TakeAnswer()) Take(*answer);
  if (!helper_->at_end()) return;
  const auto status = helper_->Status();
  status && !status->Success() ? GiveUp("slipway-gpus ended: " + status->Describe()) : Leave();
}

void GpuWatch::Take(const std::string& answer) try {
  sums_ = ReadFields<GpuSums>(Json::parse(answer), {"the answer of slipway-gpus"});
  heard_ = SystemClock().Steady();
  if (!std::exchange(has_answered_, true)) CheckInTime();
} catch (const std::exception& error) {
  log::Warn("{}", error.what());
}

void GpuWatch::CheckInTime() {
  if (timer_) loop_.Cancel(*timer_);
  const auto due = heard_ + (has_answered_ ? patience_.next : patience_.first);
  timer_ = loop_.After(std::max(due - SystemClock().Steady(), std::chrono::nanoseconds(0)), [this] { Check(); });
}

/// What lies in the pipe counts: this process may have been the slow one.
void GpuWatch::Check() {
  timer_.reset();
  Read();
  if (!helper_) return;
  const auto patience = has_answered_ ? patience_.next : patience_.first;
  if (SystemClock().Steady() - heard_ < patience) return CheckInTime();
  GiveUp(fmt::format("the driver has not answered for {}; dmesg shows whether it reports an error (Xid)",
                     FormatDuration(Seconds(patience))));
}

void GpuWatch::Leave() {
  if (timer_) loop_.Cancel(*timer_);
  timer_.reset();
  if (helper_) loop_.Forget(helper_->fd());
  helper_.reset();
}

void GpuWatch::GiveUp(const std::string& why) {
  Leave();
  if (report_) report_("GPUs are measured no more: " + why);
}

void GpuWatch::Finish() {
  if (!helper_) return;
  if (const auto answer = helper_->Finish(kLastAnswerPatience)) Take(*answer);
  Leave();
}

}  // namespace slipway::launcher
