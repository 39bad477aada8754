/// Sizes of messages on the command lines of benchmarks.
#pragma once

#include <cstdint>
#include <string>

namespace slipway::bench {

/// Bytes of whole float32 elements, rounded down. Errors: CLI::ValidationError of --sizes, which names `example`.
std::int64_t MessageBytes(const std::string& text, const char* example);

}  // namespace slipway::bench
