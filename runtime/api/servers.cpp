// The C interface: parameter servers.

#include <fmt/format.h>

#include "runtime/api/calls.h"
#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"
#include "runtime/slipway.h"

namespace {

using namespace slipway::runtime;  // this file is the outer face of the runtime
using Operation = Watch::Operation;

bool IsFloat(slipway_dtype dtype) {
  return dtype == SLIPWAY_FLOAT32 || dtype == SLIPWAY_FLOAT64 || dtype == SLIPWAY_FLOAT16 || dtype == SLIPWAY_BFLOAT16;
}

}  // namespace

extern "C" {

int slipway_server_create(const char* server, const slipway_tensor* parameters, int count, double rate,
                          int64_t staleness) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kServerCreate);
    auto& communicator = current.communicator();
    OnAllRanks(communicator, [&] {
      RequireArgument(server != nullptr && *server != '\0', "the parameter server has no name");
      RequireArgument(staleness >= 0, fmt::format("the staleness is negative: {}", staleness));
      RequireRate(rate);
      if (current.HasServer(server)) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("there is a parameter server '{}' already", server));
      }
    });
    const auto call = fmt::format("parameter server '{}' of rate {} and staleness {}", server, rate, staleness);
    auto taken = TakeSameTensors(call, parameters, count, communicator);
    OnAllRanks(communicator, [&] {
      for (const auto& tensor : taken) {
        RequireArgument(IsFloat(tensor.dtype), fmt::format("parameter '{}' is of {}, which no gradient can change",
                                                           tensor.name, NameOf(tensor.dtype)));
        RequireCpuMemory(tensor.data, fmt::format("parameter '{}'", tensor.name));
        AwaitManaged(tensor.data, nullptr, communicator.waiter());
      }
      RequireApart(taken);
    });
    current.MakeServer({server, std::move(taken), rate, staleness});
  });
}

int slipway_server_push(const char* server, const slipway_tensor* gradients, int count) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    const auto taken = TakeTensors(gradients, count);
    for (const auto& tensor : taken) {
      RequireCpuMemory(tensor.data, tensor.name);
      AwaitManaged(tensor.data, nullptr, WholeJob().communicator().waiter());
    }
    WholeJob().ServerOf(server).Push(taken);
  });
}

int slipway_server_pull(const char* server) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    WholeJob().ServerOf(server).Pull();
  });
}

int slipway_server_set_rate(const char* server, double rate) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    CurrentJob().ServerOf(server).SetRate(rate);
  });
}

int slipway_server_lead(const char* server, int64_t* lead) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr && lead != nullptr, "the parameter server or the result is a null pointer");
    *lead = CurrentJob().ServerOf(server).lead();
  });
}

int slipway_server_free(const char* server) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kServerFree);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(server != nullptr, "the parameter server has no name");
      current.ServerOf(server);
    });
    RequireSameCall(fmt::format("parameter server '{}'", server), {}, current.communicator());
    current.FreeServer(server);
  });
}

}  // extern "C"
