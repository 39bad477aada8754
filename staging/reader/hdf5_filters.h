/// Undoes on any thread what HDF5's own filters have done to a chunk, without the library.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/formats/hdf5.h"

namespace slipway::staging {

/// True when all of these are deflate, shuffle and fletcher32.
bool CanUndo(std::span<const Hdf5Filter> filters);

/// Makes of a stored chunk its values, `bytes` of them, in `values`; `stored` becomes spare memory.
/// Errors: Error(kEnvironment): a wrong checksum, a damaged stream, another number of bytes than `bytes`.
void UndoFilters(std::span<const Hdf5Filter> filters, unsigned skipped, std::size_t bytes,
                 std::vector<std::byte>& stored, std::vector<std::byte>& values);

}  // namespace slipway::staging
