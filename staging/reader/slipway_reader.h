/**
 * libslipway_reader: batches of a dataset for one rank, in C, with no framework and no MPI inside.
 *
 * Open a reader, take batches until one is NULL (the end of an epoch), go on with the next epoch, close it. Worker
 * threads read, check and decode ahead. Every function returns SLIPWAY_READER_OK (0) or an error code;
 * slipway_reader_error_message() then says what, why and what to do, for the calling thread. Options are JSON: see
 * docs/reference/batch-reader.md. One thread at a time may use a reader; different readers are independent. A child made by fork() has
 * no threads of a reader: it opens its own, and does not touch its parent's.
 */
#ifndef SLIPWAY_READER_H_
#define SLIPWAY_READER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLIPWAY_READER_API __attribute__((visibility("default")))
#else
#define SLIPWAY_READER_API
#endif

typedef enum slipway_reader_status {
  SLIPWAY_READER_OK = 0,
  SLIPWAY_READER_ERROR_ARGUMENT = 1, /* null pointer, options that are wrong or do not fit the dataset */
  SLIPWAY_READER_ERROR_DATA = 2,     /* a file is missing, damaged or of another form; the message names the record */
  SLIPWAY_READER_ERROR_OUT_OF_MEMORY = 3,
  SLIPWAY_READER_ERROR_INTERNAL = 4
} slipway_reader_status;

/* Numbers as in slipway_dtype, where that has them. */
typedef enum slipway_reader_dtype {
  SLIPWAY_READER_FLOAT32 = 0,
  SLIPWAY_READER_FLOAT64 = 1,
  SLIPWAY_READER_INT32 = 2,
  SLIPWAY_READER_INT64 = 3,
  SLIPWAY_READER_FLOAT16 = 4,
  SLIPWAY_READER_UINT8 = 6,
  SLIPWAY_READER_INT8 = 7,
  SLIPWAY_READER_INT16 = 8,
  SLIPWAY_READER_UINT16 = 9,
  SLIPWAY_READER_UINT32 = 10,
  SLIPWAY_READER_UINT64 = 11
} slipway_reader_dtype;

/** One field of a batch: a dense row-major array, the records first. */
typedef struct slipway_reader_field {
  const char* name;
  int dtype; /* slipway_reader_dtype */
  int ndim;
  const int64_t* shape;
  void* data;
  size_t bytes;
} slipway_reader_field;

/** Some bytes. */
typedef struct slipway_reader_bytes {
  const void* data;
  size_t size;
} slipway_reader_bytes;

/** A batch. All it points to is valid until the next call for this reader that takes a batch, seeks or closes. */
typedef struct slipway_reader_batch {
  int64_t epoch;
  int64_t step; /* of this reader in this epoch */
  int64_t slot; /* which memory of the ring it lies in, 0 .. prefetch */
  int64_t size; /* records, padding included */
  int64_t valid_count;
  const uint8_t* valid;    /* 1, or 0 for padding, whose values are zeros */
  const uint64_t* records; /* numbers counted over all files (of one node after the other); UINT64_MAX for padding */
  int nfields;
  const slipway_reader_field* fields;
  const slipway_reader_bytes* payloads; /* with the option "payloads": the whole records; else NULL */
} slipway_reader_batch;

/** Of the batches handed out since the reader was opened. */
typedef struct slipway_reader_numbers {
  int64_t batches;
  int64_t records;    /* without padding */
  double wait_s;      /* time that the caller waited for batches */
  double last_wait_s; /* for the last one */
  double longest_wait_s;
  int64_t corrupt_records; /* different ones that were skipped */
  int64_t replaced;        /* places that another record was read for */
} slipway_reader_numbers;

typedef struct slipway_reader slipway_reader;

/** The message of the last error in this thread; never NULL. */
SLIPWAY_READER_API const char* slipway_reader_error_message(void);
/** "0.1.0". */
SLIPWAY_READER_API const char* slipway_reader_version(void);

/**
 * Opens a dataset: the NAME of one that the launcher staged (SLIPWAY_DATA_<NAME>), or a path: a staged directory, a
 * directory of data files, one file. `options` is JSON. Rank, world, remainder and on_corrupt are taken from the
 * launcher's environment where it does not say them. *reader is NULL after an error.
 */
SLIPWAY_READER_API int slipway_reader_open(const char* dataset, const char* options, slipway_reader** reader);
/**
 * The same into the caller's memory: `slots` has `count` = (prefetch + 1) * fields pointers, slot by slot, and `bytes`
 * how much each points to: at least `bytes` of slipway_reader_fields of an equal reader, or nothing is opened. Aligned
 * to the numbers; it must stay until the reader is closed.
 */
SLIPWAY_READER_API int slipway_reader_open_into(const char* dataset, const char* options, void* const* slots,
                                                const size_t* bytes, size_t count, slipway_reader** reader);
/** Ends the threads and frees the memory. NULL is fine. */
SLIPWAY_READER_API void slipway_reader_close(slipway_reader* reader);

/** The fields of a batch, with data NULL. Valid until close. */
SLIPWAY_READER_API int slipway_reader_fields(slipway_reader* reader, const slipway_reader_field** fields, int* nfields);
/** Batches of a whole epoch on every rank. */
SLIPWAY_READER_API int slipway_reader_steps(slipway_reader* reader, int64_t* steps);
/** Records of an epoch over all ranks, those that fill no step included. */
SLIPWAY_READER_API int slipway_reader_count(slipway_reader* reader, int64_t* records);

/** Where one of a batch's `records` lies: "'FILE': record 3", counted in the file. Valid until the next call of this. */
SLIPWAY_READER_API int slipway_reader_describe(slipway_reader* reader, uint64_t record, const char** where);

/** The next batch; *batch is NULL at the end of an epoch (once; after the last of "epochs" always). */
SLIPWAY_READER_API int slipway_reader_next(slipway_reader* reader, const slipway_reader_batch** batch);
/**
 * The same, copied: memory[i] receives `bytes` of field i (NULL: not wanted). *batch then has no data of its own; its
 * other pointers are as above.
 */
SLIPWAY_READER_API int slipway_reader_next_into(slipway_reader* reader, void* const* memory, int nfields,
                                                const slipway_reader_batch** batch);

/**
 * JSON {"epoch", "records_done"}, where nodes hold different records with "shares": what a checkpoint keeps. `capacity`
 * is the size of `text`; 128 is enough.
 */
SLIPWAY_READER_API int slipway_reader_position(slipway_reader* reader, char* text, size_t capacity);
/**
 * Goes on at a position of any reader with this dataset, seed and order, also of another number of ranks. Inside an
 * epoch of nodes that hold different records, nodes and ranks must be the same.
 */
SLIPWAY_READER_API int slipway_reader_seek(slipway_reader* reader, const char* position);

SLIPWAY_READER_API int slipway_reader_stats(slipway_reader* reader, slipway_reader_numbers* numbers);
/** JSON list of the first skipped records: {"record", "where", "reason"}. Valid until the next call for this reader. */
SLIPWAY_READER_API int slipway_reader_corrupt(slipway_reader* reader, const char** list);

#ifdef __cplusplus
}
#endif
#endif /* SLIPWAY_READER_H_ */
