#include <cstring>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

/// The limit of a grid's y and z.
constexpr unsigned kMostAcross = 65535;

/// Copies of a kernel's parameters, made at the launch.
class Parameters {
 public:
  Parameters(const Kernel& kernel, void** values) {
    for (std::size_t i = 0; i < kernel.parameter_bytes.size(); ++i) {
      const auto* value = static_cast<const char*>(values[i]);
      values_.emplace_back(value, value + kernel.parameter_bytes[i]);
    }
    for (auto& value : values_) pointers_.push_back(value.data());
  }
  void** pointers() { return pointers_.data(); }

 private:
  std::vector<std::vector<char>> values_;
  std::vector<void*> pointers_;
};

}  // namespace

extern "C" {

Code cuModuleLoadData(ModuleHandle* module, const void* image) {
  return Enter("cuModuleLoadData", Needs::kContext, [&](const Call& call) {
    if (module == nullptr || image == nullptr) throw Refusal{kInvalidValue};
    if (call.driver.HasWork(call.context())) call.driver.ledger.Count(FAKE_GPU_SLOW_CALLS_UNDER_WORK);
    *module = call.driver.modules.Add(std::make_shared<Module>(Module{call.context()}));
  });
}

Code cuModuleUnload(ModuleHandle module) {
  return Enter("cuModuleUnload", Needs::kContext, [&](const Call& call) {
    call.driver.Own(call.driver.modules, module, "the module", call.context());
    call.driver.WaitForContext(call.lock, call.context());
    call.driver.modules.Remove(module);
    call.driver.functions.RemoveIf([&](const Function& function) { return function.module == module; });
  });
}

Code cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return Enter("cuModuleGetFunction", Needs::kContext, [&](const Call& call) {
    if (function == nullptr || name == nullptr) throw Refusal{kInvalidValue};
    call.driver.Own(call.driver.modules, module, "the module", call.context());
    const auto kernel = call.driver.kernels.find(name);
    if (kernel == call.driver.kernels.end()) throw Refusal{kNotFound};
    *function = call.driver.functions.Add(std::make_shared<Function>(Function{call.context(), module, kernel->second}));
  });
}

Code cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle handle, void** parameters,
                    void** extra) {
  return Enter("cuLaunchKernel", Needs::kContext, [&](const Call& call) {
    if (extra != nullptr) throw Refusal{kNotSupported};
    const fake_gpu_launch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    for (const auto size : {grid_x, grid_y, grid_z, block_x, block_y, block_z}) {
      if (size == 0) throw Refusal{kInvalidValue};
    }
    if (grid_y > kMostAcross || grid_z > kMostAcross) throw Refusal{kInvalidValue};
    const auto known = call.driver.Own(call.driver.functions, function, "the function", call.context());
    const auto stream = call.driver.WorkStream(handle, call.context());
    const auto& kernel = known->kernel;
    if (parameters == nullptr && !kernel.parameter_bytes.empty()) throw Refusal{kInvalidValue};
    const auto values = std::make_shared<Parameters>(kernel, parameters);
    auto operation = std::make_shared<Operation>();
    operation->name = " of " + kernel.name;
    operation->engine = Engine::kCompute;
    operation->work = [body = kernel.function, launch, values] { body(&launch, values->pointers()); };
    call.driver.Queue(call.lock, *stream, operation);
  });
}

}  // extern "C"

}  // namespace slipway::fake_gpu
