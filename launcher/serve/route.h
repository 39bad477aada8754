/// Decides what a request gets. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "launcher/serve/access.h"

namespace slipway::launcher {

/// What counts of a request. Missing headers are empty.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  ///< "/api/view?run=a"
  std::string_view host;
  std::string_view cookie;
  std::string_view fetch_site;  ///< Sec-Fetch-Site: what kind of page sends it
};

struct Refuse {
  int status = 403;
  std::string why;  ///< one line for the user
};
struct EnterPage {};  ///< came by the URL: gets the cookie, and goes on to the page without the token in its address
struct ShowPage {};
struct ListAllRuns {};
struct ShowRuns {
  std::vector<std::string> ids;  ///< 1 to kMostCompared, as written by the client: anything
};
struct ShowWorkflow {
  std::string id;  ///< as written by the client: anything
};
struct FollowRun {
  std::string id;  ///< as written by the client: anything
};
using Action = std::variant<Refuse, EnterPage, ShowPage, ListAllRuns, ShowRuns, ShowWorkflow, FollowRun>;

inline constexpr std::size_t kMostCompared = 20;

/// Headers of every answer. The page loads nothing from elsewhere, and no other page may frame, read or keep an answer.
inline constexpr std::pair<const char*, const char*> kSafeHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

/// Without the token every path and method gets the same refusal.
Action Decide(const HttpRequest& request, const Access& access);

}  // namespace slipway::launcher
