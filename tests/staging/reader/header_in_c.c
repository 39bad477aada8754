/* The public header is C: this file is compiled as such. It reads one epoch and adds up its labels. */
#include <stdio.h>
#include <string.h>

#include "staging/reader/slipway_reader.h"

int SumOfLabels(const char* dataset, const char* options, int64_t* sum, char* position);

int SumOfLabels(const char* dataset, const char* options, int64_t* sum, char* position) {
  slipway_reader* reader = NULL;
  const slipway_reader_batch* batch = NULL;
  int status = slipway_reader_open(dataset, options, &reader);
  *sum = 0;
  while (status == SLIPWAY_READER_OK) {
    int64_t i;
    status = slipway_reader_next(reader, &batch);
    if (batch == NULL) break;
    for (i = 0; i < batch->size; ++i) {
      const int64_t* labels = batch->fields[0].data;
      if (batch->valid[i]) *sum += labels[i];
    }
  }
  if (status == SLIPWAY_READER_OK) status = slipway_reader_position(reader, position, 64);
  if (status != SLIPWAY_READER_OK) fprintf(stderr, "%s\n", slipway_reader_error_message());
  slipway_reader_close(reader);
  return status;
}
