/// The border between the programs and libslipway_hdf5.so: two functions with C names.
///
/// Both sides are built together; C++ objects and slipway::Error cross it.
#pragma once

namespace slipway::staging {

class Hdf5File;

inline constexpr char kHdf5OpenSymbol[] = "slipway_hdf5_open";
inline constexpr char kHdf5CreateSymbol[] = "slipway_hdf5_create";

/// The caller owns the result.
using Hdf5Factory = Hdf5File* (*)(const char* path);

}  // namespace slipway::staging
