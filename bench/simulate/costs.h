/// What work inside a node costs in the simulation. Assumptions, not measurements; docs/explanation/benchmarks-exchange.md names them.
#pragma once

#include <cstdint>

namespace slipway::bench {

/// Bytes a second that one rank combines. It is also the speed of a simulated core: one operation a byte.
inline constexpr double kCombineRate = 10e9;
/// Bytes a second that all ranks of a node together read and write.
inline constexpr double kNodeMemory = 100e9;
/// Of a message between two ranks of a node: bytes a second, and seconds. It is a copy by one core, through memory that
/// the other cores use, too.
inline constexpr double kCopyRate = 5e9;
inline constexpr double kCopyLatency = 500e-9;

/// Lets this simulated rank work for as long as combining `bytes` takes.
void SpendOnCombining(double bytes);
/// Lets this simulated rank wait until the memory of its node has moved `bytes`.
void SpendOnMemory(double bytes);

}  // namespace slipway::bench
