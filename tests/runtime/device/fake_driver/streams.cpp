#include "tests/runtime/device/fake_driver/streams.h"

#include <algorithm>
#include <atomic>

namespace slipway::fake_gpu {
namespace {

std::atomic<StreamId> next_id{1};

void Follow(Operation& operation, const OperationPtr& earlier) {
  if (!earlier || earlier->epoch != operation.epoch) return;
  operation.clock.Join(earlier->clock);
  if (!earlier->done()) operation.after.push_back(earlier);
}

}  // namespace

Stream::Stream(Context& owner, Kind of_kind)
    : context(owner), kind(of_kind), id(next_id++), name("stream " + std::to_string(id)) {}

Context::Context(Device of_device) : device(of_device), legacy(std::make_shared<Stream>(*this, Stream::Kind::kLegacy)) {
  legacy->name = "the legacy default stream";
}

StreamPtr Context::PerThread() {
  auto& stream = per_thread[std::this_thread::get_id()];
  if (!stream) {
    stream = std::make_shared<Stream>(*this, Stream::Kind::kBlocking);
    stream->name = "a per-thread default stream";
    streams.push_back(stream);
  }
  return stream;
}

void Context::ForgetDestroyed(std::uint64_t epoch) {
  std::erase_if(streams, [&](const StreamPtr& stream) {
    return stream->destroyed && (!stream->last || stream->last->epoch != epoch);
  });
}

void Append(Operation& operation, Stream& stream, const Clock& known, const OperationPtr& also) {
  operation.place = {stream.id, ++stream.count};
  operation.name += " (" + stream.name + ", operation " + std::to_string(stream.count) + ")";
  operation.clock.Join(known);
  Follow(operation, also);
  for (const auto& last : LastOf(stream)) Follow(operation, last);
  if (stream.kind == Stream::Kind::kBlocking) Follow(operation, stream.context.legacy->last);
  operation.clock.Join(operation.place);
}

Operations LastOf(const Stream& stream) {
  Operations last;
  if (stream.last) last.push_back(stream.last);
  if (stream.kind != Stream::Kind::kLegacy) return last;
  for (const auto& other : stream.context.streams) {
    if (other->kind == Stream::Kind::kBlocking && other->last) last.push_back(other->last);
  }
  return last;
}

bool JoinsACapture(const Stream& stream) {
  if (stream.kind != Stream::Kind::kLegacy) return false;
  return std::ranges::any_of(stream.context.streams, [](const auto& other) {
    return other->kind == Stream::Kind::kBlocking && other->capturing != 0;
  });
}

Operations LastOfAll(const Context& context) {
  Operations last;
  if (context.legacy->last) last.push_back(context.legacy->last);
  for (const auto& stream : context.streams) {
    if (stream->last) last.push_back(stream->last);
  }
  return last;
}

}  // namespace slipway::fake_gpu
