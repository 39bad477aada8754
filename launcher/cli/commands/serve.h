/// `serve`: the runs of a runs directory in a browser.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct ServeOptions {
  int port = 0;  ///< 0: a free one
  std::string host = "127.0.0.1";
};
/// Returns 0 after SIGINT, SIGTERM or SIGHUP.
int Serve(const ServeOptions& options, Session& session);

}  // namespace slipway::launcher
