#include "launcher/serve/route.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/lines.h"

namespace slipway::launcher {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

std::optional<char> HexByte(std::string_view digits) {
  unsigned char value = 0;
  if (digits.size() != 2 || !ParseNumber(digits, value, 16)) return {};
  return static_cast<char>(value);
}

/// Nothing: a % without two digits.
std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto byte = HexByte(text.substr(i + 1, 2));
    if (!byte) return {};
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

std::optional<Query> ParseQuery(std::string_view text) {
  Query query;
  LineWords pairs(text);
  while (!pairs.rest().empty()) {
    const auto pair = pairs.Word('&');
    const auto equals = pair.find('=');
    const auto name = Decoded(pair.substr(0, equals));
    const auto value = Decoded(equals == pair.npos ? "" : pair.substr(equals + 1));
    if (!name || !value) return {};
    query.emplace_back(*name, *value);
  }
  return query;
}

std::vector<std::string> ValuesOf(const Query& query, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

enum class Proof { kNone, kCookie, kUrl };

/// Pages of other sites, and of other ports of this host, may make a browser send the cookie.
Proof ProofIn(const HttpRequest& request, const Query& query, const Access& access) {
  for (const auto& token : ValuesOf(query, "token")) {
    if (IsSameSecret(token, access.token)) return Proof::kUrl;
  }
  const bool is_foreign = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  return !is_foreign && AllowsCookie(access, request.cookie) ? Proof::kCookie : Proof::kNone;
}

Action ActionForRuns(std::vector<std::string> ids) {
  if (ids.empty() || ids.size() > kMostCompared) {
    return Refuse{400, fmt::format("name 1 to {} runs: run=ID", kMostCompared)};
  }
  return ShowRuns{std::move(ids)};
}

Action ActionForWorkflow(std::vector<std::string> ids) {
  if (ids.size() != 1) return Refuse{400, "name one run: run=ID"};
  return ShowWorkflow{std::move(ids.front())};
}

Action ActionForChanges(std::vector<std::string> ids) {
  if (ids.size() != 1) return Refuse{400, "name one run: run=ID"};
  return FollowRun{std::move(ids.front())};
}

}  // namespace

Action Decide(const HttpRequest& request, const Access& access) {
  if (!AllowsHost(access, request.host)) {
    return Refuse{403, "this name is not one of the server: use the URL that slipway serve has printed"};
  }
  const auto mark = request.target.find('?');
  const auto path = request.target.substr(0, mark);
  const auto query = ParseQuery(mark == request.target.npos ? "" : request.target.substr(mark + 1));
  const auto proof = query ? ProofIn(request, *query, access) : Proof::kNone;
  if (proof == Proof::kNone) {
    return Refuse{403, "the token is missing: paste the whole URL that slipway serve has printed into the address bar"};
  }
  if (request.method != "GET") return Refuse{405, "only GET: this server changes nothing"};
  if (path == "/") return proof == Proof::kUrl ? Action(EnterPage{}) : Action(ShowPage{});
  if (path == "/api/runs") return ListAllRuns{};
  if (path == "/api/view") return ActionForRuns(ValuesOf(*query, "run"));
  if (path == "/workflow") return ActionForWorkflow(ValuesOf(*query, "run"));
  if (path == "/api/changes") return ActionForChanges(ValuesOf(*query, "run"));
  return Refuse{404, "there is no such page"};
}

}  // namespace slipway::launcher
