/// NCCL or RCCL, which add up values of several GPUs over the links between them.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "runtime/device/driver.h"

namespace slipway::runtime {

/// There is no NCCL to use.
class NoNccl : public RuntimeError {
 public:
  /// The message says `reason`, and what to do.
  explicit NoNccl(const std::string& reason);
  /// "NCCL 2.8.3 is too old".
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// The library, with the few functions that the exchange needs.
///
/// Source: nccl.h of NCCL 2.14 and later; RCCL has the same names and numbers. Declared here, so that neither a header
/// nor a library is needed.
class Nccl {
 public:
  using Communicator = void*;
  /// ncclUniqueId.
  struct Id {
    std::array<char, 128> bytes{};
  };
  /// ncclConfig_t as NCCL 2.14 has it; newer ones take it, too.
  struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = kOldest;
    int blocking = 0;
    int unset = -2147483647 - 1;  ///< NCCL_CONFIG_UNDEF_INT: where newer ones have a member
  };
  static constexpr int kOldest = 21400;  ///< communicators that do not block
  static constexpr int kSuccess = 0;
  static constexpr int kInProgress = 7;  ///< of a communicator that does not block

  /// The library for the GPUs of this driver: the file that SLIPWAY_NCCL names; else what the program has loaded, also
  /// within PyTorch; else the system's. Loaded for the rest of the process.
  /// Errors: NoNccl (DEVICE) saying what is missing, or that it is too old.
  static const Nccl& Of(const Driver& driver);
  /// Whether Of() gives it.
  static bool IsThere(const Driver& driver);

  /// "2.28.9".
  const std::string& version() const { return version_; }
  /// Throws RuntimeError(DEVICE) for another code than success and in progress, naming `call` and the error.
  void Check(int code, const char* call, Communicator communicator = nullptr) const;

  /// Whether it adds up values of this kind. 16-bit floats it rounds after each addition.
  static bool Knows(slipway_dtype dtype, slipway_op op);
  static int CodeOf(slipway_dtype dtype);
  static int CodeOf(slipway_op op);

  // The functions. Each returns an ncclResult_t.

  int (*ncclGetVersion)(int* version) = nullptr;
  const char* (*ncclGetErrorString)(int code) = nullptr;
  const char* (*ncclGetLastError)(Communicator communicator) = nullptr;
  int (*ncclGetUniqueId)(Id* id) = nullptr;
  int (*ncclCommInitRankConfig)(Communicator* communicator, int ranks, Id id, int rank, Config* config) = nullptr;
  int (*ncclCommGetAsyncError)(Communicator communicator, int* code) = nullptr;
  int (*ncclCommFinalize)(Communicator communicator) = nullptr;
  int (*ncclCommDestroy)(Communicator communicator) = nullptr;
  int (*ncclCommAbort)(Communicator communicator) = nullptr;
  int (*ncclGroupStart)() = nullptr;
  int (*ncclGroupEnd)() = nullptr;
  int (*ncclAllReduce)(const void* send, void* receive, std::size_t count, int dtype, int op, Communicator communicator,
                       StreamHandle stream) = nullptr;
  int (*ncclReduceScatter)(const void* send, void* receive, std::size_t count, int dtype, int op,
                           Communicator communicator, StreamHandle stream) = nullptr;
  int (*ncclAllGather)(const void* send, void* receive, std::size_t count, int dtype, Communicator communicator,
                       StreamHandle stream) = nullptr;

 private:
  explicit Nccl(void* library);

  std::string version_;
};

}  // namespace slipway::runtime
