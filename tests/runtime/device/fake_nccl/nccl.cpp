#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"
#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/fake_nccl/world.h"

namespace slipway::fake_nccl {
namespace {

using fake_gpu::DevicePointer;

enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

struct UniqueId {
  char bytes[128];
};

struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

constexpr int kLooksUntilLaunched = 2;
constexpr const char* kKernel = "fake_nccl_operation";

std::mutex mutex;
struct PlannedError {
  std::uint64_t calls_until = 0;
  int code = 0;
};
std::map<std::string, PlannedError> planned;
std::map<std::string, std::uint64_t> calls;
std::atomic<bool> hangs = false;
std::atomic<bool> fails_silently = false;
std::atomic<bool> aborts_never_end = false;
std::atomic<std::uint64_t> ends_in_global_mode = 0;
std::atomic<int> delayed_ranks = 0;
std::atomic<unsigned> delay_ms = 0;
std::atomic<int> state_of_all = kSuccess;

struct Communicator;
std::set<Communicator*> alive;

/// The ops of the kernels, which outlive a communicator that is aborted.
struct Operation {
  enum class Kind { kAllReduce, kReduceScatter, kAllGather };
  Kind kind = Kind::kAllReduce;
  DevicePointer send = 0;
  DevicePointer receive = 0;
  std::int64_t count = 0;  ///< elements that each rank sends, or gets of a reduce-scatter
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  bool mean = false;
  void* stream = nullptr;
  std::shared_ptr<World> world;
  std::shared_ptr<std::atomic<bool>> aborted;
  std::uint64_t number = 0;

  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * runtime::SizeOf(dtype); }
  std::int64_t sent() const { return kind == Kind::kReduceScatter ? count * world->ranks() : count; }
  std::int64_t received() const { return kind == Kind::kAllGather ? count * world->ranks() : count; }
};

struct Communicator {
  std::shared_ptr<World> world;
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
  bool blocking = true;
  std::vector<Operation> begun;  ///< not launched
  int looks = 0;
  std::uint64_t operations = 0;
  void* function = nullptr;
};

thread_local int group_depth = 0;
thread_local Communicator* of_group = nullptr;

/// The planned error of a call, or success.
int Enter(const char* entry) {
  const std::lock_guard lock(mutex);
  ++calls[entry];
  const auto plan = planned.find(entry);
  if (plan == planned.end() || --plan->second.calls_until > 0) return kSuccess;
  const int code = plan->second.code;
  planned.erase(plan);
  return code;
}

bool IsAlive(Communicator* communicator) {
  const std::lock_guard lock(mutex);
  return alive.contains(communicator);
}

/// What this rank gets, of `count` elements from `first` of all ranks' slots.
std::vector<char> SumOf(const Operation& operation, std::int64_t first, std::int64_t count) {
  const auto bytes = operation.bytes(count);
  const auto at = [&](int rank) { return operation.world->Slot(rank) + operation.bytes(first); };
  const int ranks = operation.world->ranks();
  std::vector<char> sum(at(ranks - 1), at(ranks - 1) + bytes);
  for (int rank = ranks - 2; rank >= 0; --rank) {
    runtime::Combine({operation.dtype, SLIPWAY_SUM}, sum.data(), at(rank), sum.data(), count);
  }
  if (operation.mean) runtime::Finish({operation.dtype, SLIPWAY_MEAN}, sum.data(), count, ranks);
  return sum;
}

std::vector<char> ResultOf(const Operation& operation) {
  const int rank = operation.world->rank();
  if (operation.kind == Operation::Kind::kReduceScatter) {
    return SumOf(operation, operation.count * rank, operation.count);
  }
  if (operation.kind == Operation::Kind::kAllReduce) return SumOf(operation, 0, operation.count);
  std::vector<char> all;
  for (int each = 0; each < operation.world->ranks(); ++each) {
    const char* slot = operation.world->Slot(each);
    all.insert(all.end(), slot, slot + operation.bytes(operation.count));
  }
  return all;
}

void CarryOut(const Operation& operation) {
  while (hangs && !*operation.aborted) std::this_thread::yield();
  auto& world = *operation.world;
  if (world.ranks() == delayed_ranks) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  const auto sent = operation.bytes(operation.sent());
  const void* from = fake_gpu_shadow(operation.send, sent, FAKE_GPU_READ);
  if (sent > World::kSlotBytes || from == nullptr) std::abort();
  std::memcpy(world.Slot(world.rank()), from, sent);
  if (!world.Meet(2 * operation.number + 1, *operation.aborted)) return;
  const auto result = ResultOf(operation);
  if (!world.Meet(2 * operation.number + 2, *operation.aborted)) return;
  std::memcpy(fake_gpu_shadow(operation.receive, result.size(), FAKE_GPU_WRITE), result.data(), result.size());
}

void Kernel(const fake_gpu_launch*, void** parameters) {
  const std::unique_ptr<Operation> operation(*static_cast<Operation**>(parameters[0]));
  CarryOut(*operation);
}

int LoadKernel(Communicator& communicator) {
  static constexpr std::size_t kParameters[] = {sizeof(Operation*)};
  fake_gpu_register_kernel(kKernel, Kernel, kParameters, 1);
  void* module = nullptr;
  if (fake_gpu::cuModuleLoadData(&module, "fake NCCL") != fake_gpu::kSuccess) return kUnhandledCudaError;
  const int code = fake_gpu::cuModuleGetFunction(&communicator.function, module, kKernel);
  return code == fake_gpu::kSuccess ? kSuccess : kUnhandledCudaError;
}

int Launch(Communicator& communicator) {
  for (auto& operation : std::exchange(communicator.begun, {})) {
    auto* of_kernel = new Operation(operation);
    void* parameters[] = {&of_kernel};
    const int code =
        fake_gpu::cuLaunchKernel(communicator.function, 1, 1, 1, 1, 1, 1, 0, operation.stream, parameters, nullptr);
    if (code != fake_gpu::kSuccess) return kUnhandledCudaError;
  }
  return kSuccess;
}

int EndGroup(Communicator& communicator) {
  if (communicator.blocking) return Launch(communicator);
  communicator.looks = 0;
  return kInProgress;
}

slipway_dtype DtypeOf(int code) {
  switch (code) {
    case 6: return SLIPWAY_FLOAT16;
    case 8: return SLIPWAY_FLOAT64;
    case 9: return SLIPWAY_BFLOAT16;
    default: return SLIPWAY_FLOAT32;
  }
}

struct Request {
  const char* entry;
  Operation::Kind kind;
  const void* send;
  void* receive;
  std::size_t count;
  int dtype;
  int op = 0;
  void* communicator;
  void* stream;
};

int Begin(const Request& request) {
  if (const int code = Enter(request.entry); code != kSuccess) return code;
  auto* communicator = static_cast<Communicator*>(request.communicator);
  constexpr int kSum = 0;
  constexpr int kAverage = 4;
  const bool alone = group_depth == 0;
  if (!IsAlive(communicator) || (alone && !communicator->begun.empty())) return kInvalidUsage;
  if (request.op != kSum && request.op != kAverage) return kInvalidArgument;
  communicator->begun.push_back(
      {request.kind, reinterpret_cast<DevicePointer>(request.send), reinterpret_cast<DevicePointer>(request.receive),
       static_cast<std::int64_t>(request.count), DtypeOf(request.dtype), request.op == kAverage, request.stream,
       communicator->world, communicator->aborted, communicator->operations++});
  if (alone) return EndGroup(*communicator);
  of_group = communicator;
  return communicator->blocking ? kSuccess : kInProgress;
}

int StateOf(Communicator& communicator) {
  if (state_of_all != kSuccess && communicator.begun.empty()) return state_of_all;
  if (!communicator.world->complete() || communicator.world->failure() == World::Failure::kSilent) return kInProgress;
  if (communicator.world->failure() == World::Failure::kTold) return kRemoteError;
  if (communicator.begun.empty()) return kSuccess;
  return ++communicator.looks < kLooksUntilLaunched ? int{kInProgress} : Launch(communicator);
}

/// Of this thread.
int CaptureMode() {
  int mode = fake_gpu::kCaptureModeGlobal;
  fake_gpu::cuThreadExchangeStreamCaptureMode(&mode);
  const int found = mode;
  fake_gpu::cuThreadExchangeStreamCaptureMode(&mode);
  return found;
}

int End(const char* entry, void* handle, bool by_force) {
  if (const int code = Enter(entry); code != kSuccess) return code;
  if (CaptureMode() == fake_gpu::kCaptureModeGlobal) ++ends_in_global_mode;
  auto* communicator = static_cast<Communicator*>(handle);
  if (!IsAlive(communicator)) return kInvalidArgument;
  if (by_force) *communicator->aborted = true;
  while (by_force && aborts_never_end) std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::lock_guard lock(mutex);
  alive.erase(communicator);
  delete communicator;
  return kSuccess;
}

}  // namespace
}  // namespace slipway::fake_nccl

using namespace slipway::fake_nccl;  // the entries below are its face

#pragma GCC visibility push(default)
extern "C" {

void fake_nccl_fail_call(const char* entry, std::uint64_t nth, int code) {
  const std::lock_guard lock(mutex);
  planned[entry] = {nth, code};
}
void fake_nccl_fail_silently() { fails_silently = true; }
void fake_nccl_hang() { hangs = true; }
void fake_nccl_never_end_aborts() { aborts_never_end = true; }
void fake_nccl_delay(int ranks, unsigned milliseconds) {
  delay_ms = milliseconds;
  delayed_ranks = ranks;
}
void fake_nccl_set_state(int code) { state_of_all = code; }
std::uint64_t fake_nccl_ends_in_global_mode() { return ends_in_global_mode; }
std::uint64_t fake_nccl_calls(const char* entry) {
  const std::lock_guard lock(mutex);
  return calls[entry];
}
std::uint64_t fake_nccl_communicators() {
  const std::lock_guard lock(mutex);
  return alive.size();
}

int ncclGetVersion(int* version) {
  const char* asked = std::getenv("SLIPWAY_FAKE_NCCL_VERSION");
  *version = asked != nullptr ? std::atoi(asked) : 22809;
  return Enter("ncclGetVersion");
}

const char* ncclGetErrorString(int code) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress"};
  return code >= 0 && code <= kInProgress ? kTexts[code] : "unknown result code";
}

const char* ncclGetLastError(void*) { return ""; }

int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 0, sizeof *id);
  std::random_device random;  // the numbers of processes come again
  std::snprintf(id->bytes, sizeof id->bytes, "/slipway-fake-nccl-%08x%08x", random(), random());
  return Enter("ncclGetUniqueId");
}

int ncclCommInitRankConfig(void** result, int ranks, UniqueId id, int rank, Config* config) {
  const bool known =
      config != nullptr && config->magic == 0xcafebeef && config->size >= sizeof(Config) && config->version >= 21400;
  if (!known || rank < 0 || rank >= ranks || ranks > World::kMostRanks) return kInvalidArgument;
  const int entered = Enter("ncclCommInitRankConfig");
  auto failure = fails_silently ? World::Failure::kSilent : World::Failure::kTold;
  if (entered == kSuccess) failure = World::Failure::kNone;
  auto communicator = std::make_unique<Communicator>();
  communicator->world = std::make_shared<World>(id.bytes, ranks, rank, failure);
  communicator->blocking = config->blocking != 0;
  if (entered != kSuccess) {
    while (!communicator->world->complete()) std::this_thread::yield();  // a late rank would find no file
    return entered;
  }
  if (const int code = LoadKernel(*communicator); code != kSuccess) return code;
  const std::lock_guard lock(mutex);
  *result = *alive.insert(communicator.release()).first;
  return kInProgress;
}

int ncclCommGetAsyncError(void* handle, int* code) {
  auto* communicator = static_cast<Communicator*>(handle);
  if (!IsAlive(communicator)) return kInvalidArgument;
  *code = StateOf(*communicator);
  return kSuccess;
}

int ncclCommFinalize(void* handle) {
  if (const int code = Enter("ncclCommFinalize"); code != kSuccess) return code;
  return IsAlive(static_cast<Communicator*>(handle)) ? kInProgress : kInvalidArgument;
}
int ncclCommDestroy(void* handle) { return End("ncclCommDestroy", handle, false); }
int ncclCommAbort(void* handle) { return End("ncclCommAbort", handle, true); }

int ncclGroupStart() {
  ++group_depth;
  return Enter("ncclGroupStart");
}

int ncclGroupEnd() {
  --group_depth;
  if (const int code = Enter("ncclGroupEnd"); code != kSuccess) return code;
  auto* communicator = std::exchange(of_group, nullptr);
  return communicator == nullptr || group_depth > 0 ? int{kSuccess} : EndGroup(*communicator);
}

int ncclAllReduce(const void* send, void* receive, std::size_t count, int dtype, int op, void* communicator,
                  void* stream) {
  return Begin({"ncclAllReduce", Operation::Kind::kAllReduce, send, receive, count, dtype, op, communicator, stream});
}

int ncclReduceScatter(const void* send, void* receive, std::size_t count, int dtype, int op, void* communicator,
                      void* stream) {
  return Begin(
      {"ncclReduceScatter", Operation::Kind::kReduceScatter, send, receive, count, dtype, op, communicator, stream});
}

int ncclAllGather(const void* send, void* receive, std::size_t count, int dtype, void* communicator, void* stream) {
  return Begin({"ncclAllGather", Operation::Kind::kAllGather, send, receive, count, dtype, 0, communicator, stream});
}

}  // extern "C"
#pragma GCC visibility pop
