#pragma once

/// Control of the fake CUDA driver: a library named libcuda.so.1, for tests, that checks how a program uses a GPU.
///
/// A test opens it with dlopen, or links it; a port that opens libcuda.so.1 with RTLD_NOLOAD then finds it.
/// The functions below are exported next to the driver's entries (driver_api.h). tests/fake_old_driver in the build
/// tree has the library of an old driver: it lacks cuStreamWaitEvent and cuLaunchHostFunc. tests/fake_hip has the same
/// device under the names of HIP (hip_api.h), tests/fake_hip_for_programs under both names, as libamdhip64.so.6.
///
/// Memory. A device address faults on the host: it is a mapping without access. Copies and kernels use a second mapping
/// of the same memory, the shadow. Fresh device memory holds kFakeGpuFresh. Bounds are those of the allocation. A freed
/// address is used again by the next allocation of the same size, with another buffer id.
///
/// Time. Queued work runs later. In virtual time it runs inside host calls. A seed chooses the order within CUDA's
/// rules. After fake_gpu_use_bandwidth, threads run it at a modelled speed. A copy reads its source when it runs.
/// Host functions have a thread of their own, as in CUDA. They run when a call waits for them or asks for their end,
/// and after 2 ms in any case (fake_gpu_set_patience).
///
/// Order. Each operation has a vector clock: the operations that precede it in its stream, through events, through the
/// legacy default stream, and through waits of the host. What one host thread waited for, all host threads know. A host
/// function that has run is known to the host.
///
/// What finds which bug. "Any order": the finding needs no luck with the seed.
///
///   Bug                                                    Finding
///   a stream does not wait for the stream it depends on    FAKE_GPU_RACE, any order
///   an event is recorded before the work, not after        FAKE_GPU_RACE, any order; by the host: the next two lines
///   the host reads a buffer before the copy into it        poison is read; fake_gpu_host_access: FAKE_GPU_HOST_RACE
///   the host writes a buffer before the copy into it       FAKE_GPU_HOST_RACE when the copy runs, lazy
///   the host fills a buffer again before the copy from it  FAKE_GPU_HOST_RACE when the copy runs; wrong data, lazy
///   the host fills a buffer after it queued the copy       wrong data, eager; FAKE_GPU_HOST_RACE, lazy
///   work relies on stream 0 from a non-blocking stream     FAKE_GPU_RACE, any order
///   an event is recorded again before a wait for it        FAKE_GPU_RACE, any order
///   pinned memory is given back with copies queued         FAKE_GPU_FREED_IN_USE, any order
///   an event is destroyed that another process has open    FAKE_GPU_FREED_IN_USE
///   a stream does not wait for another process's event     wrong data, lazy
///   memory comes back to a pool before its work has ended  FAKE_GPU_RACE or FAKE_GPU_HOST_RACE at the next use
///   memory is freed that another process has mapped        FAKE_GPU_FREED_WHILE_MAPPED; fake_gpu_delay_closes
///   a cache knows memory by its address only               the next allocation of that size has this address
///   a buffer is read that nothing has written              kFakeGpuFresh is read
///   a copy is longer than its buffer                       FAKE_GPU_OUT_OF_BOUNDS and CUDA_ERROR_INVALID_VALUE
///   the host reads or writes device memory                 SIGSEGV
///   a thread has no context, or a handle of another one    FAKE_GPU_NO_CONTEXT, FAKE_GPU_WRONG_CONTEXT
///   a host function calls the driver                       FAKE_GPU_CALL_IN_HOST_FUNCTION
///   all work is waited for on the hot path                 FAKE_GPU_DEVICE_SYNCHRONISATIONS
///   memory is allocated or pinned on the hot path          FAKE_GPU_SLOW_CALLS_UNDER_WORK
///   a copy uses memory that is not pinned                  FAKE_GPU_PAGEABLE_COPIES
///   work is expected after the device was lost             it never runs, host functions included
///
/// To test a program: run it in lazy order, in eager order and with some seeds in random order. Compare its results,
/// expect no violation, and expect the counters. fake_gpu_trace tells the order in which the work ran.
///
/// Events of several processes. A wait for another process's event runs after the record has run there: the other
/// process runs what precedes it, and in lazy order no more. So work that runs too early shows in the results.
///
/// Stricter than CUDA: work on a stream of another context is refused, copies included. An event of another process
/// can be asked and waited for by a stream, no more; it must not be destroyed before all others have closed it.
/// Not modelled: stream capture (see fake_gpu_set_capturing), the order of memory pools, arrays, textures,
/// peers (all say that they reach each other), cuStreamWaitValue, kernels that touch host memory, host code that learns
/// of device work by reading memory, races between processes, priorities, the depth of queues, the time of kernels, use
/// in a child after fork. Threads have no poison, no fresh byte and no check of what the host touches.
/// They run two kernels, and one copy each way, at the same time.
///
/// Environment, read at load and at fake_gpu_reset:
///   SLIPWAY_FAKE_GPU_SEED       seed of the order (0)
///   SLIPWAY_FAKE_GPU_ORDER      lazy | eager | random (random where a seed is set, else lazy)
///   SLIPWAY_FAKE_GPU_BANDWIDTH  GB/s each way; chooses threads instead of virtual time; 0: as fast as memory
///   SLIPWAY_FAKE_GPU_DEVICES    count of devices (2)
///   SLIPWAY_FAKE_GPU_MEMORY     bytes of each device (1 GiB)
///   SLIPWAY_FAKE_GPU_VERSION    what cuDriverGetVersion answers (12040)

#include <cstddef>
#include <cstdint>

extern "C" {

/// What a host buffer holds from the moment that a copy into it is queued until the copy has run, in virtual time.
inline constexpr unsigned char kFakeGpuPoison = 0xA5;
/// What device memory holds after its allocation, in virtual time.
inline constexpr unsigned char kFakeGpuFresh = 0xC5;

enum fake_gpu_order {
  FAKE_GPU_LAZY = 0,    // work runs when a wait needs it, and only what the wait needs
  FAKE_GPU_EAGER = 1,   // work runs at once when nothing precedes it
  FAKE_GPU_RANDOM = 2,  // a seed decides: at once, with the next wait, or when it is needed
};

enum fake_gpu_access { FAKE_GPU_READ = 0, FAKE_GPU_WRITE = 1 };

enum fake_gpu_violation {
  FAKE_GPU_OUT_OF_BOUNDS = 0,          // a copy, set or kernel leaves its allocation or its registered range
  FAKE_GPU_RACE = 1,                   // two operations touch the same bytes, one writes, nothing orders them
  FAKE_GPU_HOST_RACE = 2,              // the host touched bytes of a copy that had not run
  FAKE_GPU_FREED_IN_USE = 3,           // host memory was freed with copies queued, or an event that is open elsewhere
  FAKE_GPU_NO_CONTEXT = 4,             // a call in a thread without a current context
  FAKE_GPU_WRONG_CONTEXT = 5,          // a stream, event or function of another context
  FAKE_GPU_STALE_HANDLE = 6,           // a handle or an address that was destroyed, freed or never made
  FAKE_GPU_CALL_IN_HOST_FUNCTION = 7,  // a driver call inside of a host function
  FAKE_GPU_FREED_WHILE_MAPPED = 8,     // memory was freed that another process has opened
  FAKE_GPU_VIOLATIONS = 9,             // the count of kinds
};

enum fake_gpu_counter {
  FAKE_GPU_DEVICE_SYNCHRONISATIONS = 0,  // waits for all work: cuCtxSynchronize, cuMemFree with work queued, ...
  FAKE_GPU_HOST_WAITS = 1,               // calls that blocked until some work had run
  FAKE_GPU_PAGEABLE_COPIES = 2,          // asynchronous copies from or to memory that is not pinned
  FAKE_GPU_SLOW_CALLS_UNDER_WORK = 3,    // allocations, registrations, module loads while work was queued
  FAKE_GPU_BYTES_TO_HOST = 4,            // bytes of copies that have run
  FAKE_GPU_BYTES_TO_DEVICE = 5,
  FAKE_GPU_BYTES_ON_DEVICE = 6,
  FAKE_GPU_OPERATIONS = 7,  // operations that have run: copies, sets, kernels, host functions, markers
  FAKE_GPU_COUNTERS = 8,    // the count of counters
};

struct fake_gpu_launch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};
/// `parameters[i]` points to a copy of the i-th parameter, made at the launch.
typedef void (*fake_gpu_kernel)(const fake_gpu_launch* launch, void** parameters);

/// Forgets all contexts, memory, streams, counts, violations, plans and kernels; reads the environment again. Queued
/// work runs first. No other thread may be in a call.
void fake_gpu_reset(void);

/// Virtual time, in this order.
void fake_gpu_set_order(enum fake_gpu_order order, std::uint64_t seed);
/// Threads: one for copies each way, at this speed; 0: as fast as memory. No poison, no fresh byte.
void fake_gpu_use_bandwidth(double gigabytes_per_s);
/// How long a host function waits, in virtual time, before it runs without a call that waits for it; at first 2 ms.
void fake_gpu_set_patience(unsigned milliseconds);
/// Runs one operation that nothing precedes, in virtual time. Returns 1, or 0 where none is ready.
int fake_gpu_step(void);
/// Count of operations that have not run.
std::size_t fake_gpu_pending(void);

void fake_gpu_set_devices(int count, std::size_t bytes_each);
/// A driver refuses PTX that is newer than itself, and before CUDA 12 it does not know whether events can be shared.
void fake_gpu_set_version(int version);
/// From now on dlsym does not find the entry, as in the library of an older driver: call it before the runtime looks.
/// A program that links the entry needs `-z now`. Aborts where there is no such entry.
void fake_gpu_hide(const char* entry);
/// Processes that have called this have the same devices, by their place on the PCI bus; all others have their own.
void fake_gpu_share_devices(void);
/// What cuStreamIsCapturing answers for this stream: 0 none, 1 active, 2 invalidated. While it is active, work and
/// waits on the stream are refused with 900, and so is a wait for its context; those on the legacy default stream with
/// 906 where the stream is a blocking one.
void fake_gpu_set_capturing(void* stream, int status);
/// While `on`, another thread captures a stream in global mode: calls that the driver holds for unsafe then (questions
/// for events and streams, allocations, registrations, and the ends of both) are refused with 900 in threads whose own
/// mode is global, and a wait for the context in all threads.
void fake_gpu_capture_elsewhere(int on);
/// While `on`, cuMemAlloc_v2 gives memory of no context, as cuMemAllocAsync and cuMemMap do: the driver answers null to
/// the question for its context, and cuIpcGetMemHandle refuses it.
void fake_gpu_allocate_in_pools(int on);
/// While `on`, kernels find other bytes where memory of another process is mapped, and what they write there is lost:
/// as with an IOMMU that changes the addresses between GPUs. Lost are also copies to a peer that was enabled.
void fake_gpu_spoil_peers(int on);
/// Each cuIpcCloseMemHandle takes so long in addition: another process that does not wait for it is found.
void fake_gpu_delay_closes(unsigned milliseconds);

/// The n-th call of the entry from now (1: the next one) returns the code and does nothing else. Codes 700 to 719 and
/// 999 lose the device, as below.
void fake_gpu_fail_call(const char* entry, std::uint64_t nth, int code);
/// The n-th operation from now that is to run loses the device instead.
void fake_gpu_fail_operation(std::uint64_t nth, int code);
/// From now on every call that needs the device returns the code; queued work never runs, nor do host functions.
void fake_gpu_lose_device(int code);

std::uint64_t fake_gpu_calls(const char* entry);
std::uint64_t fake_gpu_count(enum fake_gpu_counter counter);
std::uint64_t fake_gpu_violation_count(enum fake_gpu_violation kind);
/// Writes the violations, one a line, zero-terminated and cut to `size`. Returns the length of the whole text.
std::size_t fake_gpu_violations(char* text, std::size_t size);
/// The same for the operations that have run, in the order in which they ended; the last half MiB of it at least.
std::size_t fake_gpu_trace(char* text, std::size_t size);

/// A kernel that cuModuleGetFunction finds by this name. `parameter_bytes` has the size of each parameter.
void fake_gpu_register_kernel(const char* name, fake_gpu_kernel kernel, const std::size_t* parameter_bytes,
                              std::size_t parameters);
/// The host's view of device memory; null, and a violation, where the range is in no allocation. Inside a kernel the
/// access takes part in the search for races. Outside, it is not ordered with queued work.
void* fake_gpu_shadow(unsigned long long pointer, std::size_t bytes, enum fake_gpu_access access);
/// Says that the host now reads or writes these bytes: a violation where an operation that the host has not waited for
/// touches them.
void fake_gpu_host_access(const void* pointer, std::size_t bytes, enum fake_gpu_access access);

}  // extern "C"
