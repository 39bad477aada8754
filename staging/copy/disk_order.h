/// The order in which the files of a dataset are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "staging/plan/plan.h"

namespace slipway::staging {

/// Where files begin on their disk; nothing where that is not known.
using DiskPlaces = std::span<const std::optional<std::uint64_t>>;

/// Whether a file that begins at `next` lies right behind one of `size` bytes that begins at `place`.
bool LiesBehind(std::uint64_t place, Bytes size, std::uint64_t next);

/// The numbers of all files, ascending by place; those without a place come first. Files in one place keep their order.
std::vector<std::size_t> OrderOfPlaces(DiskPlaces places);

/// The numbers of all files in the order in which they lie on their disk: neighbours are read in one request. In the
/// plan's order where that gains nothing: the files are in the page cache, their file system does not tell where they
/// lie, or neighbours in the plan are neighbours on the disk. A sample of the files decides.
/// Cost: some 40 files are opened; all of them, many at once, where the order differs.
std::vector<std::size_t> DiskOrder(const std::vector<SourceFile>& files);

}  // namespace slipway::staging
