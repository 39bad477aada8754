// A stand-in for libnvidia-ml.so.1, for tests only: two GPUs that count as they are told. The environment variable
// FAKE_NVML holds words that make it fail or behave otherwise, and may change between calls:
//   driver_gone     nvmlInit_v2 fails
//   hidden          GPU 0 may not be used by this user
//   no_counter      GPUs have no counter of energy, as before Volta
//   no_power        the power cannot be read
//   split           GPU 0 is split into MIG devices
//   lost            GPU 1 does not answer any more
//   no_memory       the memory cannot be read
//   no_utilisation  the utilisation cannot be read
//   full            75 GB of the memory are used, by two processes; else 10 GB by none
//   first_busy      two processes use GPU 0
//   hangs           reading the memory takes a minute, as while the driver recovers a GPU
//   crashes         reading the memory ends the process
//   counts_once     a counter of energy stands still after its second read
//   idle            no kernel runs; else one does in 60 % of the time
// FAKE_NVML_USER holds the number of a process that uses GPU 0, too.
// Each read of a counter finds it 2.5 J higher (GPU 0) or 4 J higher (GPU 1). GPU 0 takes 200 W, GPU 1 takes 100 W.

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#define FAKE_NVML_CALL extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kDriverNotLoaded = 9;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;
constexpr unsigned long long kGigabyte = 1'000'000'000;
constexpr unsigned kCount = 2;

struct Gpu {
  const char* uuid;
  unsigned long long step_mj;
  unsigned power_mw;
  unsigned long long energy_mj;
  int reads = 0;
};

Gpu gpus[kCount] = {{"GPU-aaaaaaaa-0000-0000-0000-000000000000", 2500, 200'000, 1'000'000},
                    {"GPU-bbbbbbbb-1111-1111-1111-111111111111", 4000, 100'000, 7}};

bool Is(const char* word) {
  const char* words = std::getenv("FAKE_NVML");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

bool IsLost(const void* device) { return device == &gpus[1] && Is("lost"); }

int CopyText(const char* text, char* to, unsigned length) {
  if (std::strlen(text) >= length) return kInvalidArgument;
  std::strcpy(to, text);
  return kSuccess;
}

}  // namespace

FAKE_NVML_CALL int nvmlInit_v2() { return Is("driver_gone") ? kDriverNotLoaded : kSuccess; }
FAKE_NVML_CALL int nvmlShutdown() { return kSuccess; }
FAKE_NVML_CALL const char* nvmlErrorString(int) { return "a failure on demand"; }

FAKE_NVML_CALL int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kCount;
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= kCount) return kInvalidArgument;
  if (index == 0 && Is("hidden")) return kNoPermission;
  *device = &gpus[index];
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
  if (IsLost(device)) return kGpuIsLost;
  if (Is("no_counter")) return kNotSupported;
  auto* gpu = static_cast<Gpu*>(device);
  if (gpu->reads++ < 2 || !Is("counts_once")) gpu->energy_mj += gpu->step_mj;
  *energy = gpu->energy_mj;
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  return CopyText(static_cast<Gpu*>(device)->uuid, text, length);
}

FAKE_NVML_CALL int nvmlDeviceGetName(void*, char* text, unsigned length) {
  return CopyText("NVIDIA Stand-in 80GB", text, length);
}

FAKE_NVML_CALL int nvmlDeviceGetPowerUsage(void* device, unsigned* power) {
  if (IsLost(device)) return kGpuIsLost;
  if (Is("no_power")) return kNotSupported;
  *power = static_cast<Gpu*>(device)->power_mw;
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = device == &gpus[0] && Is("split") ? 1 : 0;
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (IsLost(device)) return kGpuIsLost;
  if (Is("hangs")) ::sleep(60);
  if (Is("crashes")) std::abort();
  if (Is("no_memory")) return kNotSupported;
  const auto used = (Is("full") ? 75 : 10) * kGigabyte;
  *memory = {80 * kGigabyte, 80 * kGigabyte - used, used};
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetUtilizationRates(void* device, Utilisation* use) {
  if (IsLost(device)) return kGpuIsLost;
  if (Is("no_utilisation")) return kNotSupported;
  *use = {Is("idle") ? 0U : 60U, 0};
  return kSuccess;
}

FAKE_NVML_CALL int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  if (IsLost(device)) return kGpuIsLost;
  const unsigned room = *count;
  const char* user = std::getenv("FAKE_NVML_USER");
  const bool is_used = device == &gpus[0] && user != nullptr;
  const unsigned of_others = Is("full") || (device == &gpus[0] && Is("first_busy")) ? 2 : 0;
  *count = of_others + (is_used ? 1 : 0);
  if (*count > room) return kInsufficientSize;
  for (unsigned i = 0; i < of_others; ++i) processes[i] = {1, 0, 0, 0};
  if (is_used) processes[of_others] = {static_cast<unsigned>(std::atoi(user)), 0, 0, 0};
  return kSuccess;
}
