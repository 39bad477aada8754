#include <cstdio>
#include <cstring>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

/// The limit of a grid's y and z.
constexpr unsigned kMostAcross = 65535;

/// The first driver, as cuDriverGetVersion says it, that takes an image: that of its line ".version 6.3". Other images
/// have none. Source: PTX ISA, "Release Notes".
int FirstDriverFor(const char* image) {
  const char* line = std::strstr(image, "\n.version ");
  int major = 0;
  int minor = 0;
  if (line == nullptr || std::sscanf(line, "\n.version %d.%d", &major, &minor) != 2) return 0;
  if (major < 6 || (major == 6 && minor < 3)) return 9000 + minor * 10;
  return major == 6 ? 10000 + (minor - 3) * 10 : (major + 4) * 1000 + minor * 10;
}

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
    if (FirstDriverFor(static_cast<const char*>(image)) > call.driver.version) throw Refusal{kUnsupportedPtxVersion};
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
