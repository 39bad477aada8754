// The C interface: teams of tensors whose gradients are exchanged.

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/api/calls.h"
#include "runtime/exchange/device_images.h"
#include "runtime/group/agreement.h"
#include "runtime/slipway.h"

namespace {

using namespace slipway::runtime;  // this file is the outer face of the runtime
using Operation = Watch::Operation;

/// On a device the list is divided in another way, so that all ranks must have theirs there, or none. Collective.
void RequireOneKindOfMemory(const char* team, const std::vector<TensorInfo>& tensors, Communicator& communicator) {
  bool on_device = false;
  OnAllRanks(communicator, [&] { on_device = PlaceOf(tensors).has_value(); });
  RequireSameCall(fmt::format("team '{}' in {} memory", team, on_device ? "GPU" : "CPU"), {}, communicator);
}

int Submit(const char* function, const char* team, const int* indices, int count, StreamHandle stream) {
  return Guard(function, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    RequireArgument(count >= 0, fmt::format("the number of tensors is negative: {}", count));
    RequireArgument(indices != nullptr || count == 0, "the list of tensors is a null pointer");
    WholeJob().TeamOf(team).Submit({indices, static_cast<std::size_t>(count)}, stream);
  });
}

int Wait(const char* function, const char* team, StreamHandle stream) {
  return Guard(function, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).Wait(stream);
  });
}

/// The tensors hold the result then, also for work that is in no order with the legacy default stream.
int WaitForResult(const char* function, const char* team) {
  return Guard(function, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    auto& found = WholeJob().TeamOf(team);
    found.Wait(nullptr);
    found.AwaitResult();
  });
}

}  // namespace

extern "C" {

int slipway_register(const char* team, const slipway_tensor* tensors, int count, int64_t total_steps) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    const BesideCaptures beside(Driver::Loaded());
    auto& communicator = current.communicator();
    OnAllRanks(communicator, [&] {
      RequireArgument(team != nullptr && *team != '\0', "the team has no name");
      RequireArgument(total_steps >= 0, fmt::format("the number of steps is negative: {}", total_steps));
      if (current.HasTeam(team)) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' is registered already", team));
      }
    });
    auto taken = TakeSameTensors(fmt::format("team '{}' of {} steps", team, total_steps), tensors, count, communicator);
    RequireOneKindOfMemory(team, taken, communicator);
    OnAllRanks(communicator, [&] {
      for (const auto& tensor : taken) {
        RequireArgument(IsNumber(tensor.dtype),
                        fmt::format("tensor '{}' is of bytes, which cannot be reduced", tensor.name));
      }
      RequireApart(taken);
    });
    current.MakeTeam({team, std::move(taken), total_steps, current.default_settings()});
  });
}

int slipway_configure_team(const char* team, const char* settings) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    const BesideCaptures beside(Driver::Loaded());
    TeamSettings changed;
    slipway::Json json;
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr && settings != nullptr, "the team or the settings are a null pointer");
      json = ParseJson(settings, "the settings are no JSON");
      auto& found = current.TeamOf(team);
      found.RequireUnused();
      changed = WithChanges(found.settings(), json);
    });
    RequireSameCall(fmt::format("team '{}' with {}", team, json.dump()), {}, current.communicator());
    current.TeamOf(team).Configure(changed);
  });
}

int slipway_unregister(const char* team) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    const BesideCaptures beside(Driver::Loaded());
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr, "the team has no name");
      if (current.TeamOf(team).InFlight()) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' has a step in flight: call slipway_wait", team));
      }
    });
    current.ForgetTeam(team);
  });
}

int slipway_submit(const char* team, int index) { return Submit(__func__, team, &index, 1, nullptr); }

int slipway_submit_on_stream(const char* team, int index, void* stream) {
  return Submit(__func__, team, &index, 1, stream);
}

int slipway_submit_many_on_stream(const char* team, const int* indices, int count, void* stream) {
  return Submit(__func__, team, indices, count, stream);
}

int slipway_submit_from(const char* team, int index, const void* data) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).SubmitFrom(index, data);
  });
}

int slipway_submit_at(const char* team, int index, void* data) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).SubmitAt(index, data);
  });
}

int slipway_wait(const char* team) { return WaitForResult(__func__, team); }

int slipway_wait_on_stream(const char* team, void* stream) { return Wait(__func__, team, stream); }

int slipway_gradients(const char* team) { return WaitForResult(__func__, team); }

int slipway_delivered(const char* team, int* delivered) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr && delivered != nullptr, "the team or the result is a null pointer");
    *delivered = CurrentJob().TeamOf(team).delivered() ? 1 : 0;
  });
}

int slipway_gradient_norm(const char* team, double* norm) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr && norm != nullptr, "the team or the result is a null pointer");
    const auto& found = CurrentJob().TeamOf(team);
    if (found.settings().clip_norm == 0) {
      throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' has no clip_norm, so no norm was computed", team));
    }
    *norm = found.norm();
  });
}

int slipway_state_save(const char* team, void* buffer, size_t* size) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kState);
    RequireArgument(team != nullptr && size != nullptr, "the team or the size is a null pointer");
    const auto state = current.TeamOf(team).SaveState();
    const auto capacity = std::exchange(*size, state.size());
    if (buffer == nullptr) return;
    RequireArgument(capacity >= state.size(),
                    fmt::format("the buffer has {} bytes, {} are needed", capacity, state.size()));
    std::memcpy(buffer, state.data(), state.size());
  });
}

int slipway_state_load(const char* team, const void* buffer, size_t size) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kState);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr && buffer != nullptr, "the team or the state is a null pointer");
      current.TeamOf(team).LoadState({static_cast<const char*>(buffer), size});
    });
    const auto step = current.TeamOf(team).step();
    const auto pending = current.TeamOf(team).pending();
    RequireSameCall(fmt::format("the state of team '{}' after step {}, {} of them on their way", team, step, pending),
                    {}, current.communicator());
  });
}

int slipway_input_begin(void) {
  return Guard(__func__, [] { CurrentJob().BeginInput(); });
}

int slipway_input_end(void) {
  return Guard(__func__, [] { CurrentJob().EndInput(); });
}

}  // extern "C"
