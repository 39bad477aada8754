/// A running `slipway-hdf5`, which reads one HDF5 file at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "core/process.h"
#include "core/unique_handle.h"
#include "staging/foreign/messages.h"

namespace slipway::staging {

class Hdf5Helper {
 public:
  /// One that another file has left, else a new one. Errors: Error(kEnvironment) when it cannot be started.
  static std::unique_ptr<Hdf5Helper> Take();
  /// Keeps it for the next file; one that is gone is dropped.
  static void Leave(std::unique_ptr<Hdf5Helper> helper);

  /// `what` says in a message what the library did: "listed its datasets". `on_wait` may be empty.
  /// Errors: what the helper answers; Error(kEnvironment) about `path` when it ends instead. After any error other than
  ///         an answer the helper is gone.
  HelperMessage Ask(const Json& request, const std::filesystem::path& path, std::string_view what,
                    const std::function<void()>& on_wait);

 private:
  Hdf5Helper(ChildProcess process, UniqueFd socket);
  bool Lives();
  void AwaitAnswer(const std::function<void()>& on_wait);
  [[noreturn]] void ThrowEnded(const std::filesystem::path& path, std::string_view what);

  ChildProcess process_;
  UniqueFd socket_;
};

}  // namespace slipway::staging
