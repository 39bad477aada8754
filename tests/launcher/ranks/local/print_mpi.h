/// GoogleTest prints an MPI by its name.
#pragma once

#include <ostream>

#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

inline void PrintTo(Mpi mpi, std::ostream* stream) { *stream << WordOf(mpi); }

}  // namespace slipway::launcher
