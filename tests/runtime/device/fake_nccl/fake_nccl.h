#pragma once

/// Control of the fake NCCL: a library named libnccl.so.2, for tests, over the fake driver (fake_gpu.h). As the fake
/// RCCL it is named librccl.so.1, over the fake driver with HIP's names.
///
/// Ranks are processes of one machine: they meet in a file of /dev/shm. An operation is a kernel of the fake driver,
/// which waits for the other ranks' kernels. Sums are made from the last rank to the first, and rounded each time.
///
/// What it is strict about: the config's magic number, size and version; one call of each rank for each operation, of
/// the same size; nothing may use a communicator that was destroyed. A communicator that does not block launches an
/// operation only when it is asked for its state, twice: work that is queued before then runs without it.
///
/// Time. A kernel that waits for other ranks holds up its host call in virtual time. So tests of hangs use
/// fake_gpu_use_bandwidth.
///
/// Environment: SLIPWAY_FAKE_NCCL_VERSION, what ncclGetVersion answers (22809).

#include <cstdint>

extern "C" {

/// The n-th call of this entry from now (1: the next one) returns the code and does nothing else.
void fake_nccl_fail_call(const char* entry, std::uint64_t nth, int code);
/// From now on the others do not learn that ncclCommInitRankConfig has failed here: they are still connecting
/// (https://github.com/NVIDIA/nccl/issues/715).
void fake_nccl_fail_silently(void);
/// From now on operations never end, until the communicator is aborted.
void fake_nccl_hang(void);
/// From now on ncclCommAbort ends operations, and never returns (https://github.com/NVIDIA/nccl/issues/863).
void fake_nccl_never_end_aborts(void);
/// Operations of communicators of so many ranks take so long in addition.
void fake_nccl_delay(int ranks, unsigned milliseconds);
/// What communicators answer from now on when they are asked for their state, once all is queued.
void fake_nccl_set_state(int code);
std::uint64_t fake_nccl_calls(const char* entry);
/// Communicators that were ended in the global mode of captures: NCCL gives memory back then, which would end a capture
/// by another thread.
std::uint64_t fake_nccl_ends_in_global_mode(void);
/// Communicators that were neither destroyed nor aborted.
std::uint64_t fake_nccl_communicators(void);

}  // extern "C"
