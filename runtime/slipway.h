/**
 * libslipway: the training-side interface of Slipway, in C, with no framework inside.
 *
 * Life of a program: slipway_init, slipway_register, slipway_broadcast, then for every optimizer step
 * slipway_gradients and slipway_report, at the end slipway_finalize. Every function returns SLIPWAY_OK (0) or an
 * error code; slipway_error_message() then says what, why and what to do, for the calling thread.
 *
 * Collective functions (marked so) must be called by all ranks, in the same order for one team. Where the arguments of
 * one rank alone are wrong, all ranks get its error; but slipway_gradients, slipway_allreduce, slipway_average and
 * slipway_stop_requested, called every step, check only their own arguments. A program that gives up on one rank must
 * end that process without slipway_finalize, which would wait for the others. A tensor is a dense
 * row-major array in CPU memory; a CUDA device pointer is refused with SLIPWAY_ERROR_DEVICE_MEMORY (other makers'
 * devices are not recognised).
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
  SLIPWAY_ERROR_ARGUMENT = 1,        /* null pointer, negative or overflowing count, unknown enum value */
  SLIPWAY_ERROR_STATE = 2,           /* before init, after finalize, unknown team, registered twice */
  SLIPWAY_ERROR_MPI = 3,             /* MPI reported an error; the communicator cannot be used again */
  SLIPWAY_ERROR_MISMATCH = 4,        /* ranks disagree (tensor list, sizes, replicas); the message names them */
  SLIPWAY_ERROR_IO = 5,              /* a file of the run folder cannot be read or written */
  SLIPWAY_ERROR_DEVICE_MEMORY = 6,   /* not CPU memory */
  SLIPWAY_ERROR_OUT_OF_MEMORY = 7,
  SLIPWAY_ERROR_INTERNAL = 8
} slipway_status;

typedef enum slipway_dtype SLIPWAY_ENUM_BASE {
  SLIPWAY_FLOAT32 = 0,
  SLIPWAY_FLOAT64 = 1,
  SLIPWAY_INT32 = 2,
  SLIPWAY_INT64 = 3
} slipway_dtype;

typedef enum slipway_op SLIPWAY_ENUM_BASE { SLIPWAY_SUM = 0, SLIPWAY_MEAN = 1, SLIPWAY_MIN = 2, SLIPWAY_MAX = 3 } slipway_op;

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
 * is a job of one rank. Collective.
 */
SLIPWAY_API int slipway_init(const char* config);
/** Waits for what is in flight, and finalizes MPI if slipway_init initialised it. Collective. */
SLIPWAY_API int slipway_finalize(void);

/** This rank in the job, 0-based; -1 before init. */
SLIPWAY_API int slipway_rank(void);
/** Ranks in the job; -1 before init. */
SLIPWAY_API int slipway_size(void);
/** This rank among those on the same node; -1 before init. */
SLIPWAY_API int slipway_local_rank(void);

/**
 * Defines a team: a named set of tensors that are exchanged together (usually the gradients of one model).
 * Names, dtypes and shapes are compared across ranks; a difference is SLIPWAY_ERROR_MISMATCH naming tensor and rank.
 * `total_steps` (0: unknown) is what schedules in per cent refer to. Collective.
 */
SLIPWAY_API int slipway_register(const char* team, const slipway_tensor* tensors, int count, int64_t total_steps);
/**
 * Copies `count` tensors of rank `root` to all ranks, in place. They need not be registered; names, dtypes and shapes
 * are compared as in slipway_register. Collective.
 */
SLIPWAY_API int slipway_broadcast(const slipway_tensor* tensors, int count, int root);
/** Combines `count` elements over all ranks, in place, the same bits on every rank. Collective. */
SLIPWAY_API int slipway_allreduce(void* data, int64_t count, slipway_dtype dtype, slipway_op op);
/** Replaces the team's tensors by their mean over all ranks, the same bits on every rank. Collective. */
SLIPWAY_API int slipway_gradients(const char* team);
/** Mean of `count` doubles over all ranks, in place (for metrics). Collective. */
SLIPWAY_API int slipway_average(double* values, int64_t count);
/** Returns when every rank has called it. Collective. */
SLIPWAY_API int slipway_barrier(void);
/**
 * Verifies that `count` tensors hold the same bits on every rank (replicas of a model).
 * SLIPWAY_ERROR_MISMATCH names the first tensor that differs and the lowest rank where it does. Collective.
 */
SLIPWAY_API int slipway_check_match(const slipway_tensor* tensors, int count);

/**
 * Records a metric: one line of metrics.jsonl, seen by the launcher and the ensemble. Local; written by rank 0 only.
 * NaN and infinities are kept. Metrics of one step may be reported one by one.
 */
SLIPWAY_API int slipway_report(int64_t step, const char* name, double value);
/** Same, with the epoch (may be fractional). */
SLIPWAY_API int slipway_report_epoch(int64_t step, double epoch, const char* name, double value);

/**
 * Sets *requested to 1 when the launcher asks the program to checkpoint and end (stop file), on all ranks at the
 * same call. Collective; call it once a step.
 */
SLIPWAY_API int slipway_stop_requested(int* requested);

/**
 * Checkpoints in the layout that `slipway resume` continues from. Begin gives every rank the path of one private
 * directory for this step (written to by any rank); Commit adds sizes and checksums, publishes it by one rename and
 * removes old ones beyond the configured number. Both collective. `capacity` is the size of `path` in bytes.
 */
SLIPWAY_API int slipway_checkpoint_begin(int64_t step, char* path, size_t capacity);
SLIPWAY_API int slipway_checkpoint_commit(int64_t step, double epoch);
/** The verified directory to resume from, or an empty string to start fresh. The same on every rank. Collective. */
SLIPWAY_API int slipway_resume_from(char* path, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* SLIPWAY_H_ */
