/// Where the network computes: the option `device`.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace trainers {

/// `word`: auto (a GPU if libtorch sees one), cpu or cuda. Of several GPUs the ranks of a node take turns.
/// Errors: UsageError when libtorch sees no GPU and `word` is cuda.
at::Device ChosenDevice(const std::string& word, int local_rank);

}  // namespace trainers
