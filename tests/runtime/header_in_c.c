/* The public header is C: this file is compiled as such. */
#include <string.h>

#include "runtime/slipway.h"

int CallFromC(void);

int CallFromC(void) {
  const slipway_tensor tensor = {"x", SLIPWAY_FLOAT32, 0, NULL, NULL};
  const int result = slipway_register("team", &tensor, 1, 0); /* before init */
  if (result != SLIPWAY_ERROR_STATE || strcmp(slipway_version(), "") == 0) return 1;
  return sizeof(slipway_dtype) == sizeof(int) ? 0 : 2;
}
