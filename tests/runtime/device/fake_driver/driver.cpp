#include "tests/runtime/device/fake_driver/driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace slipway::fake_gpu {
namespace {

constexpr std::size_t kDefaultBytes = std::size_t{1} << 30;
constexpr int kDefaultDevices = 2;
constexpr auto kDefaultPatience = std::chrono::milliseconds(2);
constexpr int kDefaultVersion = 12040;
constexpr std::array<std::string_view, 8> kUnsafeInCaptures = {
    "cuEventQuery",      "cuStreamQuery", "cuMemAlloc_v2",        "cuMemFree_v2",
    "cuMemAllocHost_v2", "cuMemFreeHost", "cuMemHostRegister_v2", "cuMemHostUnregister"};

const char* Setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == 0 ? nullptr : value;
}

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* value = Setting(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

fake_gpu_order OrderSetting() {
  const char* value = Setting("SLIPWAY_FAKE_GPU_ORDER");
  if (value == nullptr) return Setting("SLIPWAY_FAKE_GPU_SEED") == nullptr ? FAKE_GPU_LAZY : FAKE_GPU_RANDOM;
  const std::string_view order = value;
  if (order == "lazy") return FAKE_GPU_LAZY;
  return order == "eager" ? FAKE_GPU_EAGER : FAKE_GPU_RANDOM;
}

}  // namespace

/// Never destroyed: its threads may outlive main.
Driver& Driver::The() {
  static Driver& driver = *[] {
    auto* made = new Driver;
    Lock lock(made->mutex);
    made->ReadEnvironment(lock);
    return made;
  }();
  return driver;
}

void Driver::ReadEnvironment(Lock& lock) {
  version = static_cast<int>(Number("SLIPWAY_FAKE_GPU_VERSION", kDefaultVersion));
  pci_domain = static_cast<unsigned>(::getpid());
  memory.SetDevices(static_cast<int>(Number("SLIPWAY_FAKE_GPU_DEVICES", kDefaultDevices)),
                    Number("SLIPWAY_FAKE_GPU_MEMORY", kDefaultBytes));
  executor.SetPatience(kDefaultPatience);
  executor.SetOrder(lock, OrderSetting(), Number("SLIPWAY_FAKE_GPU_SEED", 0));
  if (const char* speed = Setting("SLIPWAY_FAKE_GPU_BANDWIDTH"))
    executor.UseThreads(lock, std::strtod(speed, nullptr) * 1e9);
}

void Driver::Reset(Lock& lock) {
  executor.WaitForAll(lock);
  const auto all = [](const auto&) { return true; };
  functions.RemoveIf(all);
  modules.RemoveIf(all);
  events.RemoveIf(all);
  streams.RemoveIf(all);
  contexts.RemoveIf(all);
  primary.clear();
  kernels.clear();
  memory.Clear();
  ledger = Ledger();
  executor.Restore();
  initialized = captured_elsewhere = allocates_in_pools = peers_are_spoiled = false;
  delay_of_closes = {};
  other_bytes_.clear();
  ReadEnvironment(lock);
}

std::shared_ptr<Context> Driver::PrimaryOf(Device device) {
  auto& context = primary[device];
  if (!context) {
    context = std::make_shared<Context>(device);
    context->handle = contexts.Add(context);
  }
  return context;
}

void Driver::DestroyContext(Lock& lock, Context& context) {
  executor.WaitForAll(lock);
  const auto of_context = [&](const auto& object) { return &object.context == &context; };
  functions.RemoveIf(of_context);
  modules.RemoveIf(of_context);
  events.RemoveIf(of_context);
  streams.RemoveIf(of_context);
  context.streams.clear();
  context.per_thread.clear();
  memory.ForgetAllOf(context.handle);
}

StreamPtr Driver::StreamOf(StreamHandle handle, Context& current) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value == 0 || value == kLegacyStream) return current.legacy;
  if (value == kPerThreadStream) return current.PerThread();
  return Known(streams, handle, "the stream");
}

StreamPtr Driver::WorkStream(StreamHandle handle, Context& current) {
  auto stream = StreamOf(handle, current);
  if (&stream->context != &current)
    Refuse(FAKE_GPU_WRONG_CONTEXT, kInvalidHandle, stream->name + " is of another context");
  RefuseCapturing(*stream);
  return stream;
}

void Driver::RefuseCapturing(const Stream& stream) {
  if (stream.capturing != 0) throw Refusal{kStreamCaptureUnsupported};
  if (JoinsACapture(stream)) throw Refusal{kStreamCaptureImplicit};
}

OperationPtr Driver::Queue(Lock& lock, Stream& stream, OperationPtr operation, const OperationPtr& also) {
  CheckAlive();
  operation->name = std::string(EntryHere()) + operation->name;
  operation->epoch = executor.epoch();
  Append(*operation, stream, executor.known(), also);
  stream.last = operation;
  executor.Queue(lock, operation);
  return operation;
}

void Driver::Wait(Lock& lock, const Operations& operations) {
  executor.Wait(lock, operations);
  CheckAlive();
  for (const auto& operation : operations) executor.HostKnows(*operation);
}

void Driver::WaitForContext(Lock& lock, const Context& context) {
  if (HasWork(context)) ledger.Count(FAKE_GPU_DEVICE_SYNCHRONISATIONS);
  Wait(lock, LastOfAll(context));
}

bool Driver::HasWork(const Context& context) const {
  const auto last = LastOfAll(context);
  return std::any_of(last.begin(), last.end(), [](const auto& operation) { return !operation->done(); });
}

void* Driver::OtherBytes(std::size_t bytes) {
  constexpr char kOther = 0x5A;
  return other_bytes_.emplace_back(bytes, kOther).data();
}

void Driver::Refuse(fake_gpu_violation kind, Code code, const std::string& text) {
  ledger.Report(kind, text);
  throw Refusal{code};
}

std::vector<ContextHandle>& ContextStack() {
  thread_local std::vector<ContextHandle> stack;
  return stack;
}

int& CaptureModeHere() {
  thread_local int mode = 0;
  return mode;
}

bool LosesDevice(Code code) {
  return code == kUnknown || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

Context* Admit(Driver& driver, const char* entry, Needs needs) {
  if (RunningHere() && RunningHere()->engine == Engine::kHostFunction) {
    driver.Refuse(FAKE_GPU_CALL_IN_HOST_FUNCTION, kNotPermitted, "called by " + RunningHere()->name);
  }
  const auto planned = driver.ledger.Enter(entry);
  if (LosesDevice(planned)) driver.executor.Lose(planned);
  if (planned != kSuccess) throw Refusal{planned};
  const bool unsafe = driver.captured_elsewhere && CaptureModeHere() == kCaptureModeGlobal;
  if (unsafe && std::ranges::find(kUnsafeInCaptures, entry) != kUnsafeInCaptures.end()) {
    throw Refusal{kStreamCaptureUnsupported};
  }
  if (needs == Needs::kNothing) return nullptr;
  if (!driver.initialized) throw Refusal{kNotInitialized};
  if (needs >= Needs::kDevice) driver.CheckAlive();
  const auto& stack = ContextStack();
  const auto current = stack.empty() ? nullptr : driver.contexts.Find(stack.back());
  if (needs != Needs::kContext) return current.get();
  if (!current) driver.Refuse(FAKE_GPU_NO_CONTEXT, kInvalidContext, "this thread has no current context");
  if (current->retained == 0)
    driver.Refuse(FAKE_GPU_NO_CONTEXT, kContextIsDestroyed, "the current context was released");
  return current.get();
}

}  // namespace slipway::fake_gpu
