/// What the fuzzer and the tests of its seeds run: parsers of bytes that others wrote.
///
/// A target returns for every input; it aborts (by FuzzRequire or a sanitizer) when a promise is broken.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::fuzz {

using Input = std::span<const std::byte>;

/// Every input is judged the same whatever the borders of the pieces are, and by stream check and mapped reader alike.
void FuzzTfrecord(Input input);
/// The input is turned into whole records, plain or compressed, and one byte of them may be changed.
void FuzzTfrecordRepaired(Input input);
/// What can be decoded gives the same bytes again.
void FuzzRecordIndex(Input input);
/// Every value lies inside the record; what was counted can be copied.
void FuzzExample(Input input);
/// NumPy headers, zip directories, image headers, HDF5 superblocks.
void FuzzHeaders(Input input);

struct Target {
  std::string_view name;
  void (*run)(Input input);
};

inline constexpr Target kTargets[] = {{"tfrecord", FuzzTfrecord},
                                      {"tfrecord-repaired", FuzzTfrecordRepaired},
                                      {"record-index", FuzzRecordIndex},
                                      {"example", FuzzExample},
                                      {"headers", FuzzHeaders}};

/// Small good inputs to start from; the same for each call.
std::vector<std::string> SeedsFor(std::string_view target);

/// Aborts, saying where, unless `promise` holds: in every build.
void FuzzRequire(bool promise, std::string_view what);

}  // namespace slipway::fuzz
