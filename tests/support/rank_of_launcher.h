/// This process's rank as the launcher of MPI programs says, before MPI is up; 0 without one.
#pragma once

#include <cstdlib>

namespace slipway::test {

inline int RankOfLauncher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  }
  return 0;
}

}  // namespace slipway::test
