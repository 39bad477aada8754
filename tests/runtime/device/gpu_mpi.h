#pragma once

/// An MPI that takes memory of the fake GPU (fake_gpu.h): in the test program, before the real MPI, which adds up. It
/// defines MPIX_Query_cuda_support and MPI_Allreduce.
///
/// What it is strict about: the thread that calls has a context, and the host has waited for all work on the memory.

#include <cstdint>

extern "C" {

/// What MPIX_Query_cuda_support answers; 1 at first.
void fake_gpu_mpi_answer(int takes);
/// From now on sums of memory of GPUs are wrong.
void fake_gpu_mpi_spoil(void);
/// The next allreduce of memory of a GPU ends this process instead.
void fake_gpu_mpi_die(void);
/// Allreduces of memory of GPUs.
std::uint64_t fake_gpu_mpi_calls(void);

}  // extern "C"
