#include "launcher/shim/devices.h"

#include <stdlib.h>
#include <string.h>

namespace slipway::shim {
namespace {

/// Slurm writes the same list into all of them.
constexpr const char* kVariables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                      "ZE_AFFINITY_MASK"};

/// Where the item `index` of a list with commas begins; null when there are fewer.
const char* ItemOf(const char* list, int index) {
  while (index > 0) {
    list = strchr(list, ',');
    if (list == nullptr) return nullptr;
    ++list;
    --index;
  }
  return list;
}

}  // namespace

void TakeDevices(int local_rank, int count) {
  for (const char* name : kVariables) {
    const char* all = getenv(name);
    const char* from = all != nullptr && *all != '\0' ? ItemOf(all, local_rank * count) : nullptr;
    const char* last = from != nullptr ? ItemOf(from, count - 1) : nullptr;
    if (last == nullptr) continue;
    char* own = strndup(from, static_cast<size_t>(last - from) + strcspn(last, ","));
    if (own != nullptr) setenv(name, own, 1);
    free(own);
  }
}

}  // namespace slipway::shim
