#include "runtime/trace/step_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace slipway::runtime {
namespace {

/// Spans kept for a Chrome trace: 5 MB a rank.
constexpr std::size_t kMostSpans = 100'000;

double Seconds(StepTrace::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::int64_t Microseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

/// Steady times as times since 1970, which all ranks share.
std::int64_t UnixMicroseconds(StepTrace::Clock::time_point time) {
  static const auto offset =
      std::chrono::system_clock::now().time_since_epoch() - StepTrace::Clock::now().time_since_epoch();
  return Microseconds(time.time_since_epoch() + offset);
}

double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// What a rank tells about the steps since the last line.
struct RankTimes {
  double median = 0;
  double p99 = 0;
  double least = 0;
  double most = 0;
  double wait = 0;  ///< mean of a step
  double busy = 0;
};

}  // namespace

void KeepSpan(std::vector<Span>& spans, Span span, StepTrace::Clock::time_point start,
              StepTrace::Clock::time_point end) {
  if (spans.size() >= kMostSpans) return;
  span.start_us = UnixMicroseconds(start);
  span.duration_us = Microseconds(end - start);
  spans.push_back(span);
}

void StepTrace::Keep(const char* name, const char* category, Clock::time_point start, Clock::time_point end,
                     std::int64_t step, SpanThread thread, std::int64_t bytes) {
  if (!settings_.chrome) return;
  KeepSpan(spans_, {.name = name, .category = category, .step = step, .thread = thread, .bytes = bytes}, start, end);
}

void StepTrace::AddExchange(Clock::time_point start, Clock::time_point end, std::int64_t step, bool in_background) {
  const std::lock_guard lock(mutex_);
  current_.exchange += Seconds(end - start);
  Keep("exchange", "exchange", start, end, step, in_background ? SpanThread::kExchange : SpanThread::kProgram);
}

void StepTrace::AddCopies(Clock::time_point start, Clock::time_point end, std::int64_t step, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Keep("copies from the GPU", "copies", start, end, step, SpanThread::kCopies, bytes);
}

void StepTrace::BeginGpuWork(std::int64_t step) {
  if (!settings_.chrome) return;
  const std::lock_guard lock(mutex_);
  gpu_has_all_ = false;
  if (gpu_start_) return;
  gpu_start_ = Clock::now();
  gpu_step_ = step;
}

void StepTrace::GpuHasAll() {
  if (!settings_.chrome) return;
  const std::lock_guard lock(mutex_);
  gpu_has_all_ = gpu_start_.has_value();
}

bool StepTrace::AwaitsGpu() const {
  if (!settings_.chrome) return false;
  const std::lock_guard lock(mutex_);
  return gpu_has_all_;
}

void StepTrace::EndGpuWork(const char* name, std::int64_t bytes) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (!std::exchange(gpu_has_all_, false)) return;
  Keep(name, "gpu", *gpu_start_, now, gpu_step_, SpanThread::kGpu, bytes);
  gpu_start_.reset();
}

void StepTrace::AddInput(Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  current_.input += Seconds(end - start);
  Keep("input", "input", start, end, steps_, SpanThread::kInput);
}

bool StepTrace::EndStep(Clock::time_point wait_start, std::int64_t step) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  Keep("compute", "compute", last_end_, wait_start, step, SpanThread::kProgram);
  Keep("wait", "wait", wait_start, now, step, SpanThread::kProgram);
  current_.wait = Seconds(now - wait_start);
  current_.step = Seconds(now - last_end_);
  last_end_ = now;
  ++steps_;
  if (steps_ > 1) {  // the first one holds the program's start
    total_.step += current_.step;
    total_.wait += current_.wait;
    total_.exchange += current_.exchange;
    total_.input += current_.input;
    since_line_.push_back(current_.step);
    wait_since_line_ += current_.wait;
    busy_since_line_ += current_.step - current_.wait;
  }
  current_ = {};
  return settings_.every > 0 && steps_ % settings_.every == 0 && steps_ > 1;
}

std::string StepTrace::Line(Communicator& communicator) {
  RankTimes own;
  std::sort(since_line_.begin(), since_line_.end());
  const auto count = static_cast<double>(std::max<std::size_t>(1, since_line_.size()));
  if (!since_line_.empty()) {
    own = {Quantile(since_line_, 0.5), Quantile(since_line_, 0.99), since_line_.front(),
           since_line_.back(),         wait_since_line_ / count,    busy_since_line_ / count};
  }
  since_line_.clear();
  wait_since_line_ = busy_since_line_ = 0;
  const auto all = AllgatherValues(communicator, own);
  if (communicator.rank() != 0) return {};
  std::vector<int> ranks(all.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return all[static_cast<std::size_t>(a)].busy > all[static_cast<std::size_t>(b)].busy;
  });
  ranks.resize(std::min<std::size_t>(3, ranks.size()));
  std::vector<std::string> slowest;
  for (const int rank : ranks) {
    slowest.push_back(fmt::format("{} ({:.1f} ms)", rank, all[static_cast<std::size_t>(rank)].busy * 1e3));
  }
  const auto extreme = [&](double RankTimes::*field, bool most) {
    const auto [low, high] = std::minmax_element(
        all.begin(), all.end(), [field](const RankTimes& a, const RankTimes& b) { return a.*field < b.*field; });
    return (*(most ? high : low)).*field * 1e3;
  };
  return fmt::format(
      "slipway: team '{}', step {}: a step takes {:.1f} ms (least {:.1f}, p99 {:.1f}, most {:.1f}), waiting {:.1f} to "
      "{:.1f} ms of it; longest without waiting: rank {}\n",
      team_, steps_, own.median * 1e3, extreme(&RankTimes::least, false), extreme(&RankTimes::p99, true),
      extreme(&RankTimes::most, true), extreme(&RankTimes::wait, false), extreme(&RankTimes::wait, true),
      fmt::join(slowest, ", "));
}

Json StepTrace::Totals(Communicator& communicator) {
  const auto all = AllgatherValues(communicator, total_);
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, steps_ - 1));
  Json ranks = Json::array();
  for (const auto& times : all) {
    ranks.push_back({{"step_s", times.step / steps},
                     {"compute_s", (times.step - times.wait - times.input) / steps},
                     {"wait_s", times.wait / steps},
                     {"exchange_s", times.exchange / steps},
                     {"input_s", times.input / steps}});
  }
  return {{"team", team_}, {"steps", steps_}, {"mean_of_a_step", std::move(ranks)}};
}

std::vector<Span> StepTrace::TakeSpans() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

}  // namespace slipway::runtime
