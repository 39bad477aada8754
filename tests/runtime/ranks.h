/// What tests that run on several ranks ask of each other, through MPI itself: not through what is tested.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/slipway.h"

namespace slipway::test {

inline int Rank() { return slipway_rank(); }
inline int Ranks() { return slipway_size(); }

/// The text of `root`, on every rank. Collective.
inline std::string TextOf(int root, const std::string& text) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, root, MPI_COMM_WORLD);
  std::string received = text;
  received.resize(static_cast<std::size_t>(size));
  MPI_Bcast(received.data(), size, MPI_CHAR, root, MPI_COMM_WORLD);
  return received;
}

/// Whether all ranks hold the bytes that rank 0 holds. Collective.
inline bool SameOnAllRanks(const void* data, std::size_t bytes) {
  const std::string ours(static_cast<const char*>(data), bytes);
  int same = TextOf(0, ours) == ours ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return same != 0;
}

inline bool SameOnAllRanks(const std::string& text) { return SameOnAllRanks(text.data(), text.size()); }

inline slipway_tensor Tensor(const char* name, const std::vector<std::int64_t>& shape, void* data,
                             slipway_dtype dtype = SLIPWAY_FLOAT32) {
  return {name, dtype, static_cast<int>(shape.size()), shape.data(), data};
}

/// Expects `status` on this rank with a message that holds `text` and is the same on all ranks. Collective.
inline void ExpectRefused(int result, slipway_status status, const std::string& text) {
  const std::string message = slipway_error_message();
  EXPECT_EQ(result, status) << message;
  EXPECT_NE(message.find(text), std::string::npos) << message;
  EXPECT_TRUE(SameOnAllRanks(message)) << message;
}

}  // namespace slipway::test
