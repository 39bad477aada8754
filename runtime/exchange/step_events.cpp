#include "runtime/exchange/step_events.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

std::unique_ptr<StepEvents> StepEvents::Make(const DevicePlace& place, std::size_t buckets, Communicator& ranks) {
  auto events = SharedEvents::Share(place, buckets + 1, ranks);
  if (events == nullptr) return nullptr;
  std::unique_ptr<StepEvents> made;
  OnAllRanks(ranks, [&] { made.reset(new StepEvents(place, buckets, std::move(events), ranks)); });
  ranks.waiter().AddGpuPeers(ranks.job_ranks());
  return made;
}

StepEvents::StepEvents(const DevicePlace& place, std::size_t buckets, std::unique_ptr<SharedEvents> events,
                       const Communicator& ranks)
    : place_(place),
      job_ranks_(ranks.job_ranks()),
      events_(std::move(events)),
      makers_(buckets),
      point_(place),
      join_(place) {}

/// An event has one stream: where several make values of a bucket, a stream of our own waits for them.
void StepEvents::Made(std::size_t bucket, StreamHandle stream) {
  auto& maker = makers_[bucket];
  auto& event = events_->Own(bucket);
  const StreamOfThread here(stream);
  if (!maker.stream) maker = {here, false};
  if (!maker.several && maker.stream == here) return event.Record(stream);
  maker.several = true;
  event.HoldBack(join_.handle());
  point_.Record(stream);
  point_.HoldBack(join_.handle());
  event.Record(join_.handle());
}

void StepEvents::AwaitValues(std::size_t bucket, StreamHandle sums) {
  assert(is_released_);
  makers_[bucket] = {};
  events_->HoldBack(bucket, sums);
}

void StepEvents::Summed(StreamHandle sums_stream) {
  is_released_ = false;
  events_->Own(sums()).Record(sums_stream);
}

void StepEvents::Release(StreamHandle stream) {
  is_released_ = true;
  events_->HoldBack(sums(), stream);
  PointOf(StreamOfThread(stream)).Record(stream);
}

/// For the wait of this stream. That of a thread takes the place of one that has waited: threads come and go.
DeviceEvent& StepEvents::PointOf(const StreamOfThread& stream) {
  auto released = std::ranges::find(released_, stream, &Released::stream);
  if (released == released_.end() && stream.thread != 0) {
    released = std::ranges::find_if(released_, [](const Released& each) { return each.waited.Reached(); });
  }
  if (released == released_.end()) {
    released_.push_back({stream, DeviceEvent(place_)});
    released = released_.end() - 1;
  }
  released->stream = stream;
  return released->waited;
}

bool StepEvents::HasValuesOf(std::size_t rank) const {
  for (std::size_t bucket = 0; bucket < sums(); ++bucket) {
    if (!events_->Of(rank, bucket).Reached()) return false;
  }
  return true;
}

/// Ranks of the job that the sums of `rank` wait for: its own, if all have their values.
std::vector<int> StepEvents::Missing(std::size_t rank) const {
  std::vector<int> missing;
  for (std::size_t other = 0; other < events_->ranks(); ++other) {
    if (!HasValuesOf(other)) missing.push_back(job_ranks_[other]);
  }
  if (missing.empty()) missing.push_back(job_ranks_[rank]);
  return missing;
}

/// The time limit begins when this GPU has its own values: what the program gave it before may take long.
void StepEvents::Await(Waiter& waiter) {
  is_released_ = true;
  for (std::size_t bucket = 0; bucket < sums(); ++bucket) AwaitPoint(events_->Own(bucket), waiter);
  for (std::size_t rank = 0; rank < events_->ranks(); ++rank) {
    const auto& event = events_->Of(rank, sums());
    waiter.Until([&] { return event.Reached(); }, [&] { return Missing(rank); });
  }
  for (const auto& each : released_) AwaitPoint(each.waited, waiter);
}

}  // namespace slipway::runtime
