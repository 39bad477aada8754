#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

Code CreateStream(const char* entry, StreamHandle* stream, unsigned flags) {
  return Enter(entry, Needs::kContext, [&](const Call& call) {
    if (stream == nullptr || flags > kStreamNonBlocking) throw Refusal{kInvalidValue};
    auto& context = call.context();
    context.ForgetDestroyed(call.driver.executor.epoch());
    const auto kind = flags == kStreamNonBlocking ? Stream::Kind::kNonBlocking : Stream::Kind::kBlocking;
    const auto made = std::make_shared<Stream>(context, kind);
    context.streams.push_back(made);
    *stream = call.driver.streams.Add(made);
  });
}

bool Done(const Operations& operations) {
  return std::all_of(operations.begin(), operations.end(), [](const auto& operation) { return operation->done(); });
}

/// The answer to a question about work: the host learns the end, or that there is none yet.
void Ask(const Call& call, const Operations& operations) {
  for (const auto& operation : operations) call.driver.executor.Poll(call.lock, operation);
  call.driver.CheckAlive();
  if (!Done(operations)) throw Refusal{kNotReady};
  for (const auto& operation : operations) call.driver.executor.HostKnows(*operation);
}

Operations CapturedBy(const Event& event) { return event.recorded ? Operations{event.recorded} : Operations{}; }

/// Legacy default stream: a wait for it is one for all blocking streams.
void CountIfLegacy(const Call& call, const Stream& stream) {
  if (stream.kind == Stream::Kind::kLegacy && !Done(LastOf(stream))) {
    call.driver.ledger.Count(FAKE_GPU_DEVICE_SYNCHRONISATIONS);
  }
}

/// For the last record that another process has made so far.
void WaitElsewhere(const Call& call, Stream& stream, const std::shared_ptr<SharedEvent>& event) {
  const auto wait = std::make_shared<Operation>();
  wait->shared = event;
  wait->record = event->last();
  wait->waits_elsewhere = true;
  if (wait->record > 0) call.driver.Queue(call.lock, stream, wait);
}

/// The answer to a question about it.
void AskElsewhere(SharedEvent& event) {
  const auto last = event.last();
  if (event.Reached(last)) return;
  event.Want(last);
  throw Refusal{kNotReady};
}

Code Elapsed(const char* entry, float* milliseconds, EventHandle start, EventHandle end) {
  return Enter(entry, Needs::kContext, [&](const Call& call) {
    const auto first = call.driver.Known(call.driver.events, start, "the event");
    const auto second = call.driver.Known(call.driver.events, end, "the event");
    if (milliseconds == nullptr) throw Refusal{kInvalidValue};
    for (const auto& event : {first, second}) {
      if ((event->flags & kEventDisableTiming) != 0 || !event->recorded) throw Refusal{kInvalidHandle};
    }
    if (!first->recorded->done() || !second->recorded->done()) throw Refusal{kNotReady};
    *milliseconds =
        std::chrono::duration<float, std::milli>(second->recorded->finished - first->recorded->finished).count();
  });
}

}  // namespace

extern "C" {

Code cuStreamCreate(StreamHandle* stream, unsigned flags) { return CreateStream("cuStreamCreate", stream, flags); }

Code cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int) {
  return CreateStream("cuStreamCreateWithPriority", stream, flags);
}

Code cuStreamDestroy_v2(StreamHandle stream) {
  return Enter("cuStreamDestroy_v2", Needs::kContext, [&](const Call& call) {
    call.driver.Known(call.driver.streams, stream, "the stream")->destroyed = true;
    call.driver.streams.Remove(stream);
  });
}

Code cuStreamQuery(StreamHandle handle) {
  return Enter("cuStreamQuery", Needs::kContext, [&](const Call& call) {
    const auto stream = call.driver.StreamOf(handle, call.context());
    Driver::RefuseCapturing(*stream);
    Ask(call, LastOf(*stream));
  });
}

Code cuStreamSynchronize(StreamHandle handle) {
  return Enter("cuStreamSynchronize", Needs::kContext, [&](const Call& call) {
    const auto stream = call.driver.StreamOf(handle, call.context());
    Driver::RefuseCapturing(*stream);
    CountIfLegacy(call, *stream);
    call.driver.Wait(call.lock, LastOf(*stream));
  });
}

Code cuStreamWaitEvent(StreamHandle handle, EventHandle event, unsigned flags) {
  return Enter("cuStreamWaitEvent", Needs::kContext, [&](const Call& call) {
    if (flags > 1) throw Refusal{kInvalidValue};
    const auto known = call.driver.Known(call.driver.events, event, "the event");
    const auto stream = call.driver.WorkStream(handle, call.context());
    if (known->shared && known->shared->imported()) return WaitElsewhere(call, *stream, known->shared);
    if (known->recorded) call.driver.Queue(call.lock, *stream, std::make_shared<Operation>(), known->recorded);
  });
}

Code cuStreamIsCapturing(StreamHandle handle, int* status) {
  return Enter("cuStreamIsCapturing", Needs::kContext, [&](const Call& call) {
    if (status == nullptr) throw Refusal{kInvalidValue};
    const auto stream = call.driver.StreamOf(handle, call.context());
    if (JoinsACapture(*stream)) throw Refusal{kStreamCaptureImplicit};
    *status = stream->capturing;
  });
}

Code cuThreadExchangeStreamCaptureMode(int* mode) {
  return Enter("cuThreadExchangeStreamCaptureMode", Needs::kInitialized, [&](const Call&) {
    if (mode == nullptr || *mode < kCaptureModeGlobal || *mode > kCaptureModeRelaxed) throw Refusal{kInvalidValue};
    std::swap(*mode, CaptureModeHere());
  });
}

Code cuLaunchHostFunc(StreamHandle handle, HostFunction function, void* argument) {
  return Enter("cuLaunchHostFunc", Needs::kContext, [&](const Call& call) {
    if (function == nullptr) throw Refusal{kInvalidValue};
    const auto stream = call.driver.WorkStream(handle, call.context());
    auto operation = std::make_shared<Operation>();
    operation->engine = Engine::kHostFunction;
    operation->work = [function, argument] { function(argument); };
    call.driver.Queue(call.lock, *stream, operation);
  });
}

Code cuEventCreate(EventHandle* event, unsigned flags) {
  return Enter("cuEventCreate", Needs::kContext, [&](const Call& call) {
    const bool shared_with_timing = (flags & kEventInterprocess) != 0 && (flags & kEventDisableTiming) == 0;
    if (event == nullptr || flags > 7 || shared_with_timing) throw Refusal{kInvalidValue};
    const auto made = std::make_shared<Event>(Event{call.context(), flags, nullptr, nullptr});
    if ((flags & kEventInterprocess) != 0) made->shared = SharedEvent::Create();
    *event = call.driver.events.Add(made);
  });
}

Code cuEventRecord(EventHandle event, StreamHandle handle) {
  return Enter("cuEventRecord", Needs::kContext, [&](const Call& call) {
    const auto known = call.driver.Own(call.driver.events, event, "the event", call.context());
    const auto stream = call.driver.WorkStream(handle, call.context());
    auto record = std::make_shared<Operation>();
    record->shared = known->shared;
    if (record->shared) {
      if (record->shared->imported()) throw Refusal{kNotSupported};
      record->record = record->shared->Record();
    }
    known->recorded = call.driver.Queue(call.lock, *stream, std::move(record));
  });
}

Code cuEventQuery(EventHandle event) {
  return Enter("cuEventQuery", Needs::kDevice, [&](const Call& call) {
    const auto known = call.driver.Known(call.driver.events, event, "the event");
    if (known->shared && known->shared->imported()) return AskElsewhere(*known->shared);
    Ask(call, CapturedBy(*known));
  });
}

Code cuEventSynchronize(EventHandle event) {
  return Enter("cuEventSynchronize", Needs::kContext, [&](const Call& call) {
    call.driver.Wait(call.lock, CapturedBy(*call.driver.Known(call.driver.events, event, "the event")));
  });
}

Code cuEventDestroy_v2(EventHandle event) {
  return Enter("cuEventDestroy_v2", Needs::kContext, [&](const Call& call) {
    const auto known = call.driver.Known(call.driver.events, event, "the event");
    if (known->shared && known->shared->OpenElsewhere()) {
      call.driver.ledger.Report(FAKE_GPU_FREED_IN_USE, "another process has the event open");
    }
    call.driver.events.Remove(event);
  });
}

Code cuIpcGetEventHandle(IpcHandle* handle, EventHandle event) {
  return Enter("cuIpcGetEventHandle", Needs::kContext, [&](const Call& call) {
    const auto known = call.driver.Own(call.driver.events, event, "the event", call.context());
    if (handle == nullptr || !known->shared || known->shared->imported()) throw Refusal{kInvalidValue};
    *handle = known->shared->Export();
  });
}

Code cuIpcOpenEventHandle(EventHandle* event, IpcHandle handle) {
  return Enter("cuIpcOpenEventHandle", Needs::kContext, [&](const Call& call) {
    if (event == nullptr) throw Refusal{kInvalidValue};
    const unsigned flags = kEventDisableTiming | kEventInterprocess;
    *event = call.driver.events.Add(
        std::make_shared<Event>(Event{call.context(), flags, nullptr, SharedEvent::Open(handle)}));
  });
}

Code cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  return Elapsed("cuEventElapsedTime", milliseconds, start, end);
}

Code cuEventElapsedTime_v2(float* milliseconds, EventHandle start, EventHandle end) {
  return Elapsed("cuEventElapsedTime_v2", milliseconds, start, end);
}

}  // extern "C"

}  // namespace slipway::fake_gpu
