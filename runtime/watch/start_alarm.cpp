#include "runtime/watch/start_alarm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "core/watch_report.h"
#include "runtime/watch/benefit_of_doubt.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBeat{200};

}  // namespace

StartAlarm::StartAlarm(Settings settings) : settings_(std::move(settings)) {
  Announce();
  thread_ = std::thread([this] { Count(); });
}

StartAlarm::~StartAlarm() {
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
  }
  over_.notify_one();
  thread_.join();
  if (row_ != nullptr) row_->rank = -1;  // its row is elsewhere now
}

void StartAlarm::Announce() noexcept try {
  if (settings_.rank < 0 || settings_.monitor.empty()) return;
  page_ = SharedMemory::Create(StatusTableBytes(1));
  auto& row = *reinterpret_cast<RankStatusRow*>(page_.data());
  row.process = ::getpid();
  row.current = static_cast<std::uint32_t>(Activity::kInit);
  row.rank = settings_.rank;
  if (SendStatusTable(settings_.monitor, page_.descriptor(), 1)) row_ = &row;
} catch (const std::system_error&) {
  // This rank will not be visible from other nodes.
}

void StartAlarm::Count() {
  Clock::duration waited{};
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kBeat, [this] { return begun_; })) {
    const auto now = Clock::now();
    waited += std::min<Clock::duration>(now - std::exchange(last, now), kLongestGap);
    if (waited < settings_.patience) continue;
    if (const auto found = Answer(); !found.empty()) End(found);
    if (row_ == nullptr || waited >= settings_.patience + kGraceForAnAnswer) {
      End(
          fmt::format("MPI_Init has not returned after {:.1f} s: a rank has not called it, or the ranks cannot connect "
                      "to each other",
                      std::chrono::duration<double>(waited).count()));
    }
    Ask(waited);
  }
}

void StartAlarm::Ask(std::chrono::duration<double> waited) {
  row_->waited_ms = static_cast<std::uint32_t>(waited.count() * 1000);
  row_->asks = static_cast<std::uint32_t>(Activity::kInit);
}

std::string StartAlarm::Answer() const {
  if (row_ == nullptr) return {};
  const auto& answer = *reinterpret_cast<const StallReport*>(row_ + 1);
  const auto json = Json::parse(answer.Read(), nullptr, false);
  return json.is_object() ? json.value("message", "") : "";
}

/// Who answers has written the report already; else the first rank that is here has the word.
void StartAlarm::End(const std::string& message) const {
  const auto who = settings_.rank < 0 ? std::string() : fmt::format("rank {}: ", settings_.rank);
  std::fprintf(stderr, "slipway: %s%s\n", who.c_str(), message.c_str());
  try {
    if (!settings_.report.empty()) {
      WriteWatchReport(
          settings_.report, fmt::format("{}-{}", settings_.rank, ::getpid()),
          {{"kind", "start"}, {"message", message}, {"seen_by", settings_.rank}, {"ranks", Json::array()}});
    }
  } catch (const std::exception&) {
    // The message is on stderr.
  }
  std::_Exit(1);
}

}  // namespace slipway::runtime
