/// Where the network computes: the options `device` and `precision`.
#pragma once

#include <c10/core/Device.h>

#include "trainers/common/arguments.h"

namespace trainers {

/// By `device`: auto (a GPU if libtorch sees one), cpu or cuda. Of several GPUs the ranks of a node take turns; this
/// rank's is libtorch's current one then, so that nothing is allocated on another rank's.
/// Errors: UsageError when libtorch sees no GPU and `device` is cuda or `precision` fp16.
at::Device ChosenDevice(const Arguments& arguments, int local_rank);

}  // namespace trainers
