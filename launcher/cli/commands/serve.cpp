#include "launcher/cli/commands/serve.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/ownership.h"
#include "core/process_identity.h"
#include "launcher/serve/http_server.h"

namespace slipway::launcher {
namespace {

bool IsWildcard(const std::string& address) { return address == "0.0.0.0" || address == "::"; }

std::string InUrl(const std::string& address) {
  return address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
}

/// What a user types on the machine with the browser. In a Slurm job the way leads through the node that submitted it.
std::string TunnelTo(const HttpServer& server) {
  const auto target = IsWildcard(server.address()) ? std::string("127.0.0.1") : InUrl(server.address());
  const auto login = Variable("SLURM_SUBMIT_HOST");
  const auto user = UserName(::geteuid());
  const bool passes_login = !login.empty() && HostName() != login;
  return fmt::format("ssh -N -L {0}:{1}:{0} {2}{3}@{4}", server.port(), target,
                     passes_login ? fmt::format("-J {}@{} ", user, login) : "", user, HostName());
}

/// The URL is as good as a password.
void WarnOfReaders(Output& output) {
  struct stat info {};
  if (::fstat(STDOUT_FILENO, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & (S_IRGRP | S_IROTH)) == 0) return;
  output.Warn("others can read the file that stdout goes to, and with it the URL: chmod 600 it");
}

void WarnOfNetwork(const HttpServer& server, Output& output) {
  if (IsLoopback(server.address())) return;
  output.Warn(
      fmt::format("listening on {}: the URL and the data cross the network unencrypted, and whoever sees the URL "
                  "can read the runs; without --host only this machine is served",
                  server.address()));
}

}  // namespace

int Serve(const ServeOptions& options, Session& session) {
  HttpServer server(options.host, static_cast<std::uint16_t>(options.port));
  const auto access = MakeAccess(NewToken(), server.address(), server.port(), HostName());
  RunSource runs(session.runs());
  runs.Runs();  // an unreadable directory is said here

  const auto name = IsWildcard(server.address()) ? HostName() : InUrl(server.address());
  const auto url = fmt::format("http://{}:{}/?token={}", name, server.port(), access.token);
  const auto tunnel = TunnelTo(server);
  WarnOfNetwork(server, session.output);
  WarnOfReaders(session.output);
  session.output.Print(
      {Json{{"schema", "slipway.serve/1"},
            {"url", url},
            {"address", server.address()},
            {"port", server.port()},
            {"tunnel", tunnel},
            {"runs_directory", session.runs_directory.string()}},
       fmt::format(
           "the runs of {}:\n  {}\nfrom another machine, run this there, then open http://127.0.0.1:{}/?token={}\n"
           "  {}\nCtrl-C ends it",
           session.runs_directory.string(), url, server.port(), access.token, tunnel),
       url});
  if (server.Serve(access, runs)) return 0;
  std::_Exit(0);  // a thread still reads: it writes nothing
}

}  // namespace slipway::launcher
