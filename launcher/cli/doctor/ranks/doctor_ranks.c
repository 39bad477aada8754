/* doctor-ranks: the program that `slipway doctor` starts two ranks of. Rank 0 prints one line:
 *
 *   doctor-ranks RANKS SECONDS_OF_A_SMALL_EXCHANGE BYTES_PER_SECOND_OF_A_LARGE_ONE
 *
 * Bytes are those of one rank's gradients. It ends with 0, or prints why not and ends with 1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/slipway.h"

enum { kSmall = 16, kLarge = 4 << 20, kSmallRounds = 200, kLargeRounds = 6 };

static void Check(int status) {
  if (status == SLIPWAY_OK) return;
  fprintf(stderr, "%s\n", slipway_error_message());
  exit(1);
}

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of one exchange of `count` numbers, after one that is not measured. */
static double Measure(float* data, int64_t count, int rounds) {
  Check(slipway_allreduce(data, count, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL));
  const double began = Now();
  for (int i = 0; i < rounds; ++i) {
    Check(slipway_allreduce(data, count, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL));
  }
  return (Now() - began) / rounds;
}

/* The mean of the ranks' numbers, or the exchange is wrong. */
static void CheckValues(float* data) {
  data[0] = (float)slipway_rank();
  Check(slipway_allreduce(data, 1, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL));
  const int ranks = slipway_size();
  if (data[0] == (float)(ranks * (ranks - 1) / 2)) return;
  fprintf(stderr, "the exchange gave a wrong sum\n");
  exit(1);
}

int main(void) {
  void* memory = NULL;
  Check(slipway_init("{}"));
  Check(slipway_alloc((int64_t)kLarge * (int64_t)sizeof(float), &memory));
  memset(memory, 0, kLarge * sizeof(float));
  CheckValues(memory);
  const double small = Measure(memory, kSmall, kSmallRounds);
  const double large = Measure(memory, kLarge, kLargeRounds);
  if (slipway_rank() == 0) {
    printf("doctor-ranks %d %.3e %.3e\n", slipway_size(), small, (double)kLarge * sizeof(float) / large);
  }
  Check(slipway_free(memory));
  Check(slipway_finalize());
  return 0;
}
