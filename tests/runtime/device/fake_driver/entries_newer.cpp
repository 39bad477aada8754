// The entries that the library of an old driver lacks.

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {

extern "C" {

Code cuStreamWaitEvent(StreamHandle handle, EventHandle event, unsigned flags) {
  return Enter("cuStreamWaitEvent", Needs::kContext, [&](const Call& call) {
    if (flags > 1) throw Refusal{kInvalidValue};
    const auto known = call.driver.Known(call.driver.events, event, "the event");
    const auto stream = call.driver.WorkStream(handle, call.context());
    if (known->recorded) call.driver.Queue(call.lock, *stream, std::make_shared<Operation>(), known->recorded);
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

}  // extern "C"

}  // namespace slipway::fake_gpu
