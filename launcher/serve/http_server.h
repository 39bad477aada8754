/// The HTTP server of `slipway serve`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "launcher/serve/access.h"
#include "launcher/serve/run_source.h"

namespace slipway::launcher {

/// Answers GET requests that Decide allows. One thread speaks with all clients, so a slow one hinders no other; others
/// read the runs.
///
/// Limits: requests of 16 KiB without a body, each within 15 s; answers within 2 minutes; 64 connections, of which 32
/// may follow runs. At the limit a new client replaces one that has shown no token.
class HttpServer {
 public:
  /// Listens. `host`: an address or a name of this machine; `port` 0: a free one.
  /// Errors: Error(kBusy) for a port in use; Error(kUsage) for a host or port that cannot be listened on.
  HttpServer(const std::string& host, std::uint16_t port);
  ~HttpServer();

  const std::string& address() const;
  std::uint16_t port() const;

  /// Serves until SIGINT, SIGTERM or SIGHUP. Open connections are closed then. False: a thread still reads a run, and
  /// the process must end without destructors.
  bool Serve(const Access& access, RunSource& runs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slipway::launcher
