/**
 * libslipway: the training-side interface of Slipway, in C, with no framework inside.
 *
 * Life of a program: slipway_init, slipway_register, slipway_broadcast, then for every optimizer step
 * slipway_gradients and slipway_report, at the end slipway_finalize. Every function returns SLIPWAY_OK (0) or an
 * error code; slipway_error_message() then says what, why and what to do, for the calling thread.
 *
 * Collective functions (marked so) must be called by all ranks of a group, in the same order; different teams are
 * independent of each other. Where the arguments of one rank alone are wrong, all ranks get its error; but the calls
 * made every step (slipway_allreduce and its like, slipway_submit, slipway_wait, slipway_gradients, slipway_average,
 * slipway_stop_requested) check only their own arguments: there the other ranks learn of it from the watch. A rank that
 * does not come is named with host and last operation after `stall_after` (a dead one within a second; of one on
 * another node only the host is known, unless `slipway` has started the ranks): SLIPWAY_ERROR_STALLED on all others.
 * After SLIPWAY_ERROR_STALLED and SLIPWAY_ERROR_MPI end the process; slipway_finalize then waits for nobody. A program
 * that gives up on one rank for a reason of its own must end that process without slipway_finalize.
 *
 * A tensor is a dense row-major array in CPU memory, or in the memory of a GPU (CUDA; HIP of ROCm 6 or later).
 * Functions that end in _on_stream order their work with a CUDA stream of the program; those without do so with the
 * legacy default stream, which is that of PyTorch and CuPy. They ignore the stream for CPU memory, but for managed
 * memory. One thread at a time may be inside this library, with two exceptions: any thread may call slipway_submit and
 * its like and slipway_torch_*, and each group of slipway_group_create_by_members may have a thread of its own inside
 * an operation. A child made by fork() is not part of the job.
 */
#ifndef SLIPWAY_H_
#define SLIPWAY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLIPWAY_API __attribute__((visibility("default")))
#else
#define SLIPWAY_API
#endif

/* In C++ any int may be passed and is checked; the layout is that of C. */
#ifdef __cplusplus
#define SLIPWAY_ENUM_BASE : int
#else
#define SLIPWAY_ENUM_BASE
#endif

typedef enum slipway_status SLIPWAY_ENUM_BASE {
  SLIPWAY_OK = 0,
  SLIPWAY_ERROR_ARGUMENT = 1,      /* null pointer, negative or overflowing count, unknown enum value */
  SLIPWAY_ERROR_STATE = 2,         /* before init, after finalize, unknown team, registered twice */
  SLIPWAY_ERROR_MPI = 3,           /* MPI reported an error; the communicator cannot be used again */
  SLIPWAY_ERROR_MISMATCH = 4,      /* ranks disagree (tensor list, sizes, replicas); the message names them */
  SLIPWAY_ERROR_IO = 5,            /* a file of the run folder cannot be read or written */
  SLIPWAY_ERROR_DEVICE_MEMORY = 6, /* GPU memory where it cannot be: parameter servers, submit_from, several devices */
  SLIPWAY_ERROR_OUT_OF_MEMORY = 7,
  SLIPWAY_ERROR_INTERNAL = 8,
  SLIPWAY_ERROR_STALLED = 9,     /* a rank is dead, or did not come in time; the message names rank and host */
  SLIPWAY_ERROR_NOT_FINITE = 10, /* a gradient holds NaN or infinity; the message names tensor and rank */
  SLIPWAY_ERROR_DEVICE = 11      /* the driver of a GPU reported an error; the message has its name */
} slipway_status;

typedef enum slipway_dtype SLIPWAY_ENUM_BASE {
  SLIPWAY_FLOAT32 = 0,
  SLIPWAY_FLOAT64 = 1,
  SLIPWAY_INT32 = 2,
  SLIPWAY_INT64 = 3,
  SLIPWAY_FLOAT16 = 4,  /* IEEE binary16 */
  SLIPWAY_BFLOAT16 = 5, /* the upper half of a float32 */
  SLIPWAY_UINT8 = 6     /* bytes: moved, never reduced */
} slipway_dtype;

/*
 * Minimum and maximum of anything and NaN are NaN, and -0 lies below +0. Sums and products of integers wrap around;
 * their mean is that of the exact sum, rounded towards zero. So with every algorithm.
 */
typedef enum slipway_op SLIPWAY_ENUM_BASE {
  SLIPWAY_SUM = 0,
  SLIPWAY_MEAN = 1,
  SLIPWAY_MIN = 2,
  SLIPWAY_MAX = 3,
  SLIPWAY_PRODUCT = 4
} slipway_op;

/* The group of all ranks. */
#define SLIPWAY_ALL 0

/** One tensor of a team. `shape` has `ndim` entries; `data` stays owned by the caller and must stay valid. */
typedef struct slipway_tensor {
  const char* name;
  slipway_dtype dtype;
  int ndim;
  const int64_t* shape;
  void* data;
} slipway_tensor;

/** The message of the last error in this thread; never NULL. */
SLIPWAY_API const char* slipway_error_message(void);
/** "0.1.0". */
SLIPWAY_API const char* slipway_version(void);

/**
 * Joins the job. `config` is JSON like SLIPWAY_CONFIG, or NULL to read that variable (which may be unset).
 * Initialises MPI with MPI_THREAD_MULTIPLE unless the program already did. A program started without any launcher
 * is a job of one rank; one that several were started of, but whose MPI sees itself alone, is refused with
 * SLIPWAY_ERROR_MPI: libslipway is built for one MPI, and another one's mpiexec started the job. When it fails after it
 * has initialised MPI, it ends MPI: end the process then; another slipway_init is SLIPWAY_ERROR_STATE. Collective.
 */
SLIPWAY_API int slipway_init(const char* config);
/**
 * Waits for what is in flight, and finalizes MPI if slipway_init initialised it. Waits without a limit for ranks that
 * live and compute outside of Slipway. A step that was begun but not waited for is an error, and this rank is still in
 * the job: SLIPWAY_ERROR_STATE when all ranks have begun it, SLIPWAY_ERROR_MISMATCH when only some have. Collective.
 */
SLIPWAY_API int slipway_finalize(void);

/** This rank in the job, 0-based; -1 before init. */
SLIPWAY_API int slipway_rank(void);
/** Ranks in the job; -1 before init. */
SLIPWAY_API int slipway_size(void);
/** This rank among those on the same node; -1 before init. */
SLIPWAY_API int slipway_local_rank(void);
/** Ranks on this node; -1 before init. */
SLIPWAY_API int slipway_local_size(void);

/**
 * Makes a group of `count` different ranks, in this order; *group is its number, the same on every rank. Collective
 * over all ranks of the job, also those outside, which may not use it.
 */
SLIPWAY_API int slipway_group_create(const int* ranks, int count, int* group);
/**
 * The same, by its members alone; *group is a number of this process, and other members may have another. All members
 * must be about to call it with the same `tag`, 0 to 32767: MPI waits for a missing one for ever. Groups that are made
 * at the same time and share ranks need different tags. One thread at a time may use the group, while others use other
 * groups. SLIPWAY_ERROR_STATE where MPI does not give MPI_THREAD_MULTIPLE. Collective over the members.
 */
SLIPWAY_API int slipway_group_create_by_members(const int* ranks, int count, int tag, int* group);
/**
 * Frees a group that is not in use. Collective over all ranks of the job, or over the members that have made it by
 * themselves.
 */
SLIPWAY_API int slipway_group_free(int group);
/** This rank in the group, or -1 when it is outside or there is no such group. */
SLIPWAY_API int slipway_group_rank(int group);
/** Ranks in the group; -1 when there is no such group. */
SLIPWAY_API int slipway_group_size(int group);

/**
 * Memory that all ranks of this node can reach, zeroed, aligned to a page: tensors in it are exchanged without a copy.
 * Falls back to ordinary memory, with one warning, where shared memory is exhausted or not to be had. Where the machine
 * or a control group of the job can spare no more, SLIPWAY_ERROR_OUT_OF_MEMORY, and nothing is taken, so that
 * the kernel's OOM killer is not woken. Local.
 */
SLIPWAY_API int slipway_alloc(int64_t bytes, void** memory);
/**
 * Memory of a GPU, zeroed: `device` is its number among those that the program sees. slipway_allreduce combines it
 * where it lies, without a copy, where the GPUs of a node do it. What is freed waits for the next call of the same
 * size, and is given back to the driver at the end of the process. That call waits for all work of the GPU. Errors:
 * SLIPWAY_ERROR_DEVICE where the program has loaded no driver of a GPU, or one that cannot share memory between
 * processes (HIP); SLIPWAY_ERROR_ARGUMENT where the process sees no such GPU; SLIPWAY_ERROR_STATE before the program
 * has used CUDA, and where it would take what was freed while any thread captures a stream of the GPU: CUDA forbids the
 * wait, and ends the capture. Since 0.1.0. Local.
 */
SLIPWAY_API int slipway_alloc_on_device(int64_t bytes, int device, void** memory);
/**
 * Takes memory of the program for what slipway_alloc gives: `bytes` that the program has mapped, shared, from the start
 * of the file or memfd `descriptor`. It stays the program's: call slipway_free before unmapping it. Local.
 */
SLIPWAY_API int slipway_adopt(void* memory, int64_t bytes, int descriptor);
/**
 * Lends PyTorch memory of slipway_alloc: a tensor of exactly `bytes` bytes may be made in it, by a thread that has
 * called slipway_torch_lending(1). *lent is 0 where this cannot be: the memory is not shared, PyTorch is not loaded or
 * calls malloc in another way than is known, or SLIPWAY_TORCH_MEMORY is 0. Children made by fork() get none of it. Since
 * 0.1.0. Local, any thread.
 */
SLIPWAY_API int slipway_torch_lend(void* memory, int64_t bytes, int* lent);
/** Ends a loan; *taken is 0 while a tensor lies in the memory: try again, and do not free it. Local, any thread. */
SLIPWAY_API int slipway_torch_take_back(void* memory, int* taken);
/** Whether new tensors of the calling thread may be made in what was lent: 1, or 0 as at the start. Any thread. */
SLIPWAY_API void slipway_torch_lending(int on);
/**
 * Frees memory of slipway_alloc and slipway_alloc_on_device, or gives up what slipway_adopt took; NULL is allowed. No
 * exchange may be using it. What is not freed stays valid after slipway_finalize, until the process ends. Local.
 */
SLIPWAY_API int slipway_free(void* memory);

/**
 * Copies `count` tensors of rank `root` of the group to all its ranks, in place. They need not be registered; names,
 * dtypes and shapes are compared as in slipway_register. Collective.
 */
SLIPWAY_API int slipway_broadcast(const slipway_tensor* tensors, int count, int root, int group);
/**
 * The same, of tensors in GPU memory, after what `stream` was given so far; later work of `stream` finds the result.
 * They travel through CPU memory. The root waits for the copies there. No rank waits for the copies back, with these
 * exceptions: four earlier results are still on their way, or one of more than 64 MiB; this result has more than
 * 512 MiB. While `stream` is captured into a graph: SLIPWAY_ERROR_STATE on all ranks. Since 0.1.0. Collective.
 */
SLIPWAY_API int slipway_broadcast_on_stream(const slipway_tensor* tensors, int count, int root, int group,
                                            void* stream);
/**
 * Combines `count` elements over all ranks of the group, in place, the same bits on every rank. 16-bit floats are added
 * in float32, but by NCCL. Collective.
 */
SLIPWAY_API int slipway_allreduce(void* data, int64_t count, slipway_dtype dtype, slipway_op op, int group);
/**
 * The same, of GPU memory, after what `stream` was given so far; later work of `stream` finds the result. The calling
 * thread does not wait for the last copies to the GPU, nor, with SLIPWAY_GPU_WAIT=events, for sums of GPUs. Collective.
 */
SLIPWAY_API int slipway_allreduce_on_stream(void* data, int64_t count, slipway_dtype dtype, slipway_op op, int group,
                                            void* stream);
/**
 * Combines the `send` buffers (sum of `counts` elements) of all ranks; rank r gets its `counts[r]` elements, in rank
 * order. `counts` has one entry for each rank and is the same everywhere. `receive` must not overlap `send`.
 * Collective.
 */
SLIPWAY_API int slipway_reduce_scatter(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype,
                                       slipway_op op, int group);
/**
 * The same, of GPU memory, after what `stream` was given so far; later work of `stream` finds the result. The data travel
 * through CPU memory. The call waits for the copy of `send`, which `stream` may then change. It waits for the copy to
 * `receive` only where slipway_broadcast_on_stream would. While `stream` is captured into a graph: SLIPWAY_ERROR_STATE,
 * and nothing is sent. Since 0.1.0. Collective.
 */
SLIPWAY_API int slipway_reduce_scatter_on_stream(const void* send, void* receive, const int64_t* counts,
                                                 slipway_dtype dtype, slipway_op op, int group, void* stream);
/**
 * Concatenates the `counts[r]` elements of each rank r, in rank order. `counts` has one entry for each rank and is the
 * same everywhere. `receive` must not overlap `send`. Collective.
 */
SLIPWAY_API int slipway_allgather(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype,
                                  int group);
/** The same, of GPU memory, as slipway_reduce_scatter_on_stream. Since 0.1.0. Collective. */
SLIPWAY_API int slipway_allgather_on_stream(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype,
                                            int group, void* stream);
/**
 * Sends the r-th piece of `send`, `send_counts[r]` elements, to rank r, and receives `receive_counts[r]` from it.
 * `receive` must not overlap `send`. Collective.
 */
SLIPWAY_API int slipway_alltoall(const void* send, const int64_t* send_counts, void* receive,
                                 const int64_t* receive_counts, slipway_dtype dtype, int group);
/** The same, of GPU memory, as slipway_reduce_scatter_on_stream. Since 0.1.0. Collective. */
SLIPWAY_API int slipway_alltoall_on_stream(const void* send, const int64_t* send_counts, void* receive,
                                           const int64_t* receive_counts, slipway_dtype dtype, int group, void* stream);
/** Returns when every rank of the group has called it. Collective. */
SLIPWAY_API int slipway_barrier(int group);

/**
 * Defines a team: a named set of tensors that are exchanged together (usually the gradients of one model), with its own
 * queue: two teams may be in flight in different orders on different ranks, but teams that NCCL exchanges go one after
 * the other, in the same order on all ranks. Names, dtypes and shapes are compared across ranks; a difference is
 * SLIPWAY_ERROR_MISMATCH naming tensor and rank. List the tensors in the order of the forward pass: the last ones are
 * exchanged first, while a backward pass computes the others. `total_steps` (0: unknown) is what schedules in per cent
 * refer to. Settings come from `gradients` of the configuration. Collective.
 */
SLIPWAY_API int slipway_register(const char* team, const slipway_tensor* tensors, int count, int64_t total_steps);
/**
 * Changes a team's settings before its first exchange. `settings` is JSON with any of
 *   {"mode": "sync"|"delayed", "lag": 1 to 1000, "sync_first": steps|"10%", "sync_last": steps|"10%",
 *    "accumulate": passes, "compress": "none"|"bf16"|"fp16", "clip_norm": norm, "check_finite": bool,
 *    "bucket_bytes": bytes, "op": "mean"|"sum", "gpu_exchange": "auto"|"staged"|"direct"|"nccl"|"mpi"}.
 * Another name is SLIPWAY_ERROR_ARGUMENT.
 * With `accumulate` the program adds up the gradients of that many passes in the tensors, and must not clear them in
 * between; a mean of floats is then divided by the passes, too. Tensors in GPU memory are combined by the GPUs ("direct")
 * where these reach each other and nothing asks for the CPU, else they travel through its memory ("staged"). NCCL, or
 * an MPI that takes memory of GPUs, combines them where it is named, or measured as faster and `deterministic` of the
 * configuration is false. Of delayed gradients, the first synchronous step after delayed ones adds what is still on its
 * way, so that each gradient counts once. Collective.
 */
SLIPWAY_API int slipway_configure_team(const char* team, const char* settings);
/** Forgets a team, after what is in flight has come. Collective. */
SLIPWAY_API int slipway_unregister(const char* team);
/**
 * The tensor with this index holds its final value for this step: it may be exchanged while the program computes the
 * others. Any order, any thread. The tensor must not be touched until slipway_wait. Local.
 */
SLIPWAY_API int slipway_submit(const char* team, int index);
/**
 * The same, of a tensor in GPU memory that has its final value when `stream` has done what it was given so far. While
 * `stream` is captured into a graph: SLIPWAY_ERROR_STATE, and nothing is submitted. Waits for `stream` where the tensor
 * lies in managed memory. Local.
 */
SLIPWAY_API int slipway_submit_on_stream(const char* team, int index, void* stream);
/**
 * The same, of `count` different tensors at once: of many small ones on a GPU at a fraction of the cost. An error
 * submits none. Local.
 */
SLIPWAY_API int slipway_submit_many_on_stream(const char* team, const int* indices, int count, void* stream);
/**
 * Copies `data` into the tensor with this index, which lies in CPU memory, and submits it: for frameworks that make
 * gradients in memory of their own. Faster than a copy by the program where the team is larger than the caches.
 * `data` in GPU memory: SLIPWAY_ERROR_DEVICE_MEMORY. In managed memory: waits for the legacy default stream. Local.
 */
SLIPWAY_API int slipway_submit_from(const char* team, int index, const void* data);
/**
 * Submits the tensor with this index, which lies in CPU memory, at another place: its values are at `data` in this
 * step, and slipway_wait writes the result there instead. In memory of slipway_alloc nothing is copied, wherever other
 * ranks have it. Elsewhere, all that travels with this tensor is copied. `data` must not be touched until slipway_wait.
 * Of memory of GPUs as slipway_submit_from. Since 0.1.0. Local.
 */
SLIPWAY_API int slipway_submit_at(const char* team, int index, void* data);
/** Submits what was not, and returns when the team's tensors hold the result of this step. Collective. */
SLIPWAY_API int slipway_wait(const char* team);
/**
 * The same, of tensors in GPU memory: what is submitted now is final when `stream` has done what it was given so far,
 * and later work of `stream` finds the result. The calling thread does not wait for the last copies to the GPU, nor,
 * with SLIPWAY_GPU_WAIT=events, for sums of GPUs. Collective.
 */
SLIPWAY_API int slipway_wait_on_stream(const char* team, void* stream);
/**
 * One step, slipway_submit of all tensors and slipway_wait. In mode `sync` the tensors hold their mean over all ranks;
 * in mode `delayed` the mean of `lag` steps ago. The same bits on every rank. Collective.
 */
SLIPWAY_API int slipway_gradients(const char* team);
/**
 * *delivered is 1 when the last slipway_wait gave gradients to apply; 0 in the first `lag` delayed steps, when the
 * tensors are zero, and in passes that only accumulate. Local.
 */
SLIPWAY_API int slipway_delivered(const char* team, int* delivered);
/** The global norm (root of the sum of squares) before clipping, of the last step of a team with `clip_norm`. Local. */
SLIPWAY_API int slipway_gradient_norm(const char* team, double* norm);
/**
 * What a team would lose in a restart: step count and gradients in flight. Save waits for them and copies them; with
 * `buffer` NULL only *size is set. Load takes it after slipway_register of the same tensors and settings. Collective.
 */
SLIPWAY_API int slipway_state_save(const char* team, void* buffer, size_t* size);
SLIPWAY_API int slipway_state_load(const char* team, const void* buffer, size_t size);

/**
 * Creates a parameter server: an exchange for comparing schemes, without a promise of speed. Every rank serves a share
 * of the parameters, by a thread of its own, and applies plain SGD to it. The parameters (floats) of rank 0 are where all
 * start: the tensors of the others get them. Names, dtypes, shapes, `rate` and `staleness` are compared across ranks.
 *   staleness 0: synchronous; a step is applied when all ranks have pushed it: parameters -= rate * mean of gradients,
 *                added up in rank order. The same bits on every rank and in every run.
 *   staleness k: asynchronous; each push is applied as it comes: parameters -= rate * gradients / ranks. Pull and push
 *                of a rank that is more than k steps ahead of the slowest wait for that one.
 * MPI must give MPI_THREAD_MULTIPLE; else SLIPWAY_ERROR_STATE. slipway_finalize frees what is not. Collective.
 */
SLIPWAY_API int slipway_server_create(const char* server, const slipway_tensor* parameters, int count, double rate,
                                      int64_t staleness);
/**
 * Hands over the gradients of one step, as many as there are parameters and in their order, with their names, dtypes and
 * shapes. They may be changed after. Each rank calls it as often as the others, when it is ready.
 */
SLIPWAY_API int slipway_server_push(const char* server, const slipway_tensor* gradients, int count);
/** Copies the servers' parameters to the tensors of slipway_server_create, which must still be valid. */
SLIPWAY_API int slipway_server_pull(const char* server);
/**
 * The learning rate of what this rank pushes from now on; in synchronous mode all ranks need the same for each step, or
 * SLIPWAY_ERROR_MISMATCH comes with the next call. Local.
 */
SLIPWAY_API int slipway_server_set_rate(const char* server, double rate);
/** How many steps this rank was ahead of the slowest one at its last pull, 0 to `staleness`. Local. */
SLIPWAY_API int slipway_server_lead(const char* server, int64_t* lead);
/** Frees a server; the tensors keep what the last pull gave. Collective. */
SLIPWAY_API int slipway_server_free(const char* server);

/** Mean of `count` doubles over all ranks, in place (for metrics). Collective. */
SLIPWAY_API int slipway_average(double* values, int64_t count);
/**
 * Verifies that `count` tensors hold the same bits on every rank (replicas of a model).
 * SLIPWAY_ERROR_MISMATCH names the first tensor that differs and the lowest rank where it does. Collective.
 */
SLIPWAY_API int slipway_check_match(const slipway_tensor* tensors, int count);

/**
 * Records a metric: one line of metrics.jsonl, seen by the launcher and the ensemble. Local; written by rank 0 only.
 * NaN and infinities are kept. Metrics of one step may be reported one by one. A name has no control characters.
 */
SLIPWAY_API int slipway_report(int64_t step, const char* name, double value);
/** Same, with the epoch (may be fractional). */
SLIPWAY_API int slipway_report_epoch(int64_t step, double epoch, const char* name, double value);

typedef enum slipway_mllog_event {
  SLIPWAY_MLLOG_POINT = 0, /* POINT_IN_TIME */
  SLIPWAY_MLLOG_START = 1, /* INTERVAL_START */
  SLIPWAY_MLLOG_STOP = 2   /* INTERVAL_END */
} slipway_mllog_event;

/**
 * Adds a line to the run's MLPerf log (:::MLLOG), where the spec asks for one; otherwise nothing happens. `value` is
 * JSON text, `metadata` that of an object; NULL stands for null and {}. A point without metadata is a fact, written
 * once however often the run begins again. Local; written by rank 0 only.
 */
SLIPWAY_API int slipway_mllog(int event, const char* key, const char* value, const char* metadata);

/**
 * Sets *requested to 1 when the launcher asks the program to checkpoint and end (stop file), on all ranks at the
 * same call. Collective; call it once a step.
 */
SLIPWAY_API int slipway_stop_requested(int* requested);

/** Between the two the program waits for input data; shown by the trace. Local. */
SLIPWAY_API int slipway_input_begin(void);
SLIPWAY_API int slipway_input_end(void);

/**
 * Checkpoints in the layout that `slipway resume` continues from. Begin gives every rank the path of one private
 * directory for this step (written to by any rank); Commit adds sizes and checksums, publishes it by one rename and
 * removes old ones beyond the configured number. Both collective. `capacity` is the size of `path` in bytes.
 */
SLIPWAY_API int slipway_checkpoint_begin(int64_t step, char* path, size_t capacity);
SLIPWAY_API int slipway_checkpoint_commit(int64_t step, double epoch);
/** The verified directory to resume from, or an empty string to start fresh. The same on every rank. Collective. */
SLIPWAY_API int slipway_resume_from(char* path, size_t capacity);
/**
 * The CRC32C of `bytes` bytes appended to others whose CRC is `crc` (0: none), as the manifests of checkpoints have it.
 * Needs no job; any thread at any time.
 */
SLIPWAY_API uint32_t slipway_crc32c(const void* data, size_t bytes, uint32_t crc);

#ifdef __cplusplus
}
#endif
#endif /* SLIPWAY_H_ */
