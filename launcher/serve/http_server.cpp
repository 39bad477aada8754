#include "launcher/serve/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>
#include <variant>

#include "core/accept.h"
#include "core/json_text.h"
#include "core/output.h"
#include "launcher/serve/route.h"
#include "launcher/view/report_page.h"

namespace slipway::launcher {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;

constexpr std::size_t kLongestRequest = 16 * 1024;
constexpr auto kRequestTime = std::chrono::seconds(15);
constexpr auto kAnswerTime = std::chrono::minutes(2);
constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostFollowers = 32;
constexpr std::size_t kReaders = 4;  ///< threads that read views
constexpr auto kChangesEvery = std::chrono::seconds(1);
constexpr int kShareOfReading = 5;  ///< a run that takes long to read is read at most this part of the time
constexpr auto kKeepAliveEvery = std::chrono::seconds(15);
constexpr auto kPatienceAtEnd = std::chrono::milliseconds(300);
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

/// What a thread that reads runs has found.
template <class Result>
using Outcome = std::variant<Result, Error>;

void SetSafeHeaders(http::fields& fields) {
  for (const auto& [name, value] : kSafeHeaders) fields.set(name, value);
}

http::status StatusOf(const Error& error) {
  if (error.kind() == ErrorKind::kUsage) return http::status::not_found;
  return error.kind() == ErrorKind::kTryAgain ? http::status::service_unavailable : http::status::internal_server_error;
}

class Connection;

/// Clients that follow one run.
struct Topic {
  Topic(net::io_context& io, std::string run, ViewEvent first)
      : id(std::move(run)), timer(io), latest(std::move(first)) {}
  std::string id;
  net::steady_timer timer;
  std::vector<std::weak_ptr<Connection>> followers;
  ViewEvent latest;
  std::chrono::steady_clock::time_point sent = std::chrono::steady_clock::now();
};

/// What connections need of the server. All but the work of Compute runs in one thread.
class Server {
 public:
  Server(net::io_context& io, tcp::acceptor& acceptor, Access who, RunSource& source)
      : access(std::move(who)), runs(source), io_(io), acceptor_(acceptor), signals_(io, SIGINT, SIGTERM, SIGHUP) {}

  /// See HttpServer::Serve.
  bool Run();

  /// Runs `work` in another thread, then `done` with its outcome in this one.
  template <class Work, class Done>
  void Compute(net::thread_pool& pool, Work work, Done done);

  bool MayFollow() const;
  void Follow(const std::string& id, const std::shared_ptr<Connection>& connection, ViewEvent latest);

  const Access access;
  RunSource& runs;
  net::thread_pool lists{1};  ///< of its own: the list must not wait for views
  net::thread_pool views{kReaders};

 private:
  void Accept();
  void ReadAhead();
  void Adopt(tcp::socket socket);
  bool MakeRoom();
  void WaitForChange(const std::shared_ptr<Topic>& topic, std::chrono::nanoseconds pause);
  void LookForChange(const std::shared_ptr<Topic>& topic);
  void Publish(const std::shared_ptr<Topic>& topic, const Outcome<ViewEvent>& found);

  net::io_context& io_;
  tcp::acceptor& acceptor_;
  net::signal_set signals_;
  std::list<std::weak_ptr<Connection>> connections_;  ///< oldest first
  std::map<std::string, std::shared_ptr<Topic>> topics_;
  std::atomic<int> busy_ = 0;
};

/// One client. It lives as long as an operation on it is pending.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Server& server)
      : stream_(std::move(socket)), buffer_(2 * kLongestRequest), server_(server) {}

  void Read();
  /// Sends a part of an event stream. While an earlier one is on its way only the latest is kept.
  void Send(const Text& text);
  /// A comment, unless something is on its way.
  void KeepAlive();
  void Close();
  /// Has shown the token.
  bool is_trusted() const { return is_trusted_; }

 private:
  void Take(error_code error);
  void Answer(http::status status, std::string body, const char* type);
  void Answer(const Outcome<std::string>& found, const char* type = kJson);
  void Reply(http::response<http::string_body> response);
  void Stream(const std::string& id, const Outcome<ViewEvent>& found);
  void WriteStream();
  void WatchForEnd();

  void Do(const Refuse& refusal);
  void Do(const EnterPage&);
  void Do(const ShowPage&);
  void Do(const ListAllRuns&);
  void Do(const ShowRuns& wanted);
  void Do(const ShowWorkflow& wanted);
  void Do(const FollowRun& wanted);

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  Server& server_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  bool is_trusted_ = false;
  bool keeps_alive_ = false;
  Text sending_;
  Text next_;
  char ignored_ = 0;
};

// ---- connections

void Connection::Read() {
  parser_.emplace();
  parser_->header_limit(kLongestRequest);
  parser_->body_limit(0);
  stream_.expires_after(kRequestTime);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](error_code error, std::size_t) { self->Take(error); });
}

void Connection::Take(error_code error) {
  keeps_alive_ = false;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Answer(http::status::request_header_fields_too_large, "the request is too long\n", kText);
  }
  if (error == http::error::body_limit || (!error && !parser_->is_done())) {
    return Answer(http::status::payload_too_large, "requests have no body here\n", kText);
  }
  const bool is_unreadable = error && error.category() == make_error_code(http::error::bad_method).category();
  if (is_unreadable && error != http::error::end_of_stream && error != http::error::partial_message) {
    return Answer(http::status::bad_request, "this is no HTTP request\n", kText);
  }
  if (error) return Close();
  const auto& request = parser_->get();
  if (request.count(http::field::host) > 1) return Answer(http::status::bad_request, "more than one Host\n", kText);
  const auto text = [](beast::string_view view) { return std::string_view(view.data(), view.size()); };
  const auto action = Decide({text(request.method_string()), text(request.target()), text(request[http::field::host]),
                              text(request[http::field::cookie]), text(request["Sec-Fetch-Site"])},
                             server_.access);
  const auto* refusal = std::get_if<Refuse>(&action);
  is_trusted_ = is_trusted_ || refusal == nullptr || refusal->status != 403;
  keeps_alive_ = refusal == nullptr && request.keep_alive();
  std::visit([this](const auto& wanted) { Do(wanted); }, action);
}

void Connection::Reply(http::response<http::string_body> response) {
  SetSafeHeaders(response);
  response.keep_alive(keeps_alive_);
  response.prepare_payload();
  auto shared = std::make_shared<http::response<http::string_body>>(std::move(response));
  stream_.expires_after(kAnswerTime);
  http::async_write(stream_, *shared, [self = shared_from_this(), shared](error_code error, std::size_t) {
    if (!error && self->keeps_alive_) return self->Read();
    self->Close();
  });
}

void Connection::Answer(http::status status, std::string body, const char* type) {
  http::response<http::string_body> response(status, 11, std::move(body));
  response.set(http::field::content_type, type);
  Reply(std::move(response));
}

void Connection::Answer(const Outcome<std::string>& found, const char* type) {
  if (const auto* text = std::get_if<std::string>(&found)) return Answer(http::status::ok, *text, type);
  const auto& error = std::get<Error>(found);
  Answer(StatusOf(error), JsonText(ErrorDocument(error)), kJson);
}

void Connection::Do(const Refuse& refusal) {
  Answer(static_cast<http::status>(refusal.status), refusal.why + "\n", kText);
}

void Connection::Do(const EnterPage&) {
  http::response<http::string_body> response(http::status::see_other, 11);
  response.set(http::field::location, "/");
  response.set(http::field::set_cookie,
               fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", server_.access.cookie, server_.access.token));
  Reply(std::move(response));
}

void Connection::Do(const ShowPage&) { Answer(http::status::ok, LivePage(), kHtml); }

void Connection::Do(const ListAllRuns&) {
  server_.Compute(
      server_.lists, [&runs = server_.runs] { return runs.Runs(); },
      [self = shared_from_this()](const Outcome<std::string>& found) { self->Answer(found); });
}

void Connection::Do(const ShowRuns& wanted) {
  const auto read = [&runs = server_.runs, ids = wanted.ids] {
    std::vector<RunSource::View> views;
    for (const auto& id : ids) views.push_back(runs.Read(id));
    return ViewText(views);
  };
  server_.Compute(server_.views, read,
                  [self = shared_from_this()](const Outcome<std::string>& found) { self->Answer(found); });
}

void Connection::Do(const ShowWorkflow& wanted) {
  const auto read = [&runs = server_.runs, id = wanted.id] { return runs.WorkflowPageOf(id); };
  server_.Compute(server_.views, read,
                  [self = shared_from_this()](const Outcome<std::string>& found) { self->Answer(found, kHtml); });
}

void Connection::Do(const FollowRun& wanted) {
  if (!server_.MayFollow()) return Answer(http::status::service_unavailable, "too many pages follow runs\n", kText);
  const auto read = [&runs = server_.runs, id = wanted.id] { return runs.Changes(id, nullptr); };
  server_.Compute(server_.views, read, [self = shared_from_this(), id = wanted.id](const Outcome<ViewEvent>& found) {
    self->Stream(id, found);
  });
}

void Connection::Stream(const std::string& id, const Outcome<ViewEvent>& found) {
  if (const auto* error = std::get_if<Error>(&found)) return Answer(*error);
  http::response<http::empty_body> response(http::status::ok, 11);
  SetSafeHeaders(response);
  response.set(http::field::content_type, "text/event-stream");
  response.keep_alive(false);  // the stream ends with the connection
  std::ostringstream head;
  head << response.base();
  WatchForEnd();
  Send(std::make_shared<const std::string>(head.str()));
  server_.Follow(id, shared_from_this(), std::get<ViewEvent>(found));
}

/// A client that follows a run sends nothing more.
void Connection::WatchForEnd() {
  stream_.socket().async_read_some(net::buffer(&ignored_, 1),
                                   [self = shared_from_this()](error_code, std::size_t) { self->Close(); });
}

void Connection::Send(const Text& text) {
  if (sending_) {
    next_ = text;
    return;
  }
  sending_ = text;
  WriteStream();
}

void Connection::KeepAlive() {
  if (!sending_) Send(std::make_shared<const std::string>(": keep-alive\n\n"));
}

void Connection::WriteStream() {
  stream_.expires_after(kAnswerTime);
  net::async_write(stream_, net::buffer(*sending_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->Close();
    self->sending_ = std::exchange(self->next_, nullptr);
    if (self->sending_) self->WriteStream();
  });
}

void Connection::Close() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
}

// ---- the server

template <class Work, class Done>
void Server::Compute(net::thread_pool& pool, Work work, Done done) {
  net::post(pool, [this, work = std::move(work), done = std::move(done)]() mutable {
    ++busy_;
    auto outcome = [&]() -> Outcome<decltype(work())> {
      try {
        return work();
      } catch (const Error& error) {
        return error;
      } catch (const std::exception& error) {
        return Error(ErrorKind::kInternal, std::string("internal error: ") + error.what());
      }
    }();
    net::post(io_, [done = std::move(done), outcome = std::move(outcome)]() mutable { done(std::move(outcome)); });
    --busy_;
  });
}

void Server::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) {
      Adopt(std::move(socket));
      return Accept();
    }
    const auto timer = std::make_shared<net::steady_timer>(io_, kAcceptPause);  // no descriptor is free
    timer->async_wait([this, timer](error_code) { Accept(); });
  });
}

/// So that the first list that is asked for is quick and complete.
void Server::ReadAhead() {
  Compute(
      lists, [this] { return runs.ReadAhead(); },
      [this](const Outcome<bool>& more) {
        if (const auto* has_more = std::get_if<bool>(&more); has_more != nullptr && *has_more) ReadAhead();
      });
}

void Server::Adopt(tcp::socket socket) {
  if (!MakeRoom()) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto connection = std::make_shared<Connection>(std::move(socket), *this);
  connections_.push_back(connection);
  connection->Read();
}

/// False when all others have shown the token.
bool Server::MakeRoom() {
  std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
  if (connections_.size() < kMostConnections) return true;
  const auto stranger = std::ranges::find_if(connections_, [](const auto& connection) {
    const auto open = connection.lock();
    return !open || !open->is_trusted();
  });
  if (stranger == connections_.end()) return false;
  if (const auto open = stranger->lock()) open->Close();
  connections_.erase(stranger);
  return true;
}

bool Server::MayFollow() const {
  std::size_t followers = 0;
  for (const auto& [id, topic] : topics_) followers += topic->followers.size();
  return followers < kMostFollowers;
}

void Server::Follow(const std::string& id, const std::shared_ptr<Connection>& connection, ViewEvent latest) {
  auto& topic = topics_[id];
  const bool is_new = !topic;
  if (is_new) topic = std::make_shared<Topic>(io_, id, std::move(latest));
  topic->followers.push_back(connection);
  connection->Send(topic->latest.event);
  if (is_new) WaitForChange(topic, kChangesEvery);
}

void Server::WaitForChange(const std::shared_ptr<Topic>& topic, std::chrono::nanoseconds pause) {
  topic->timer.expires_after(pause);
  topic->timer.async_wait([this, topic](error_code error) {
    if (!error) LookForChange(topic);
  });
}

void Server::LookForChange(const std::shared_ptr<Topic>& topic) {
  std::erase_if(topic->followers, [](const auto& follower) { return follower.expired(); });
  if (topic->followers.empty()) {
    topics_.erase(topic->id);
    return;
  }
  const auto read = [&runs = runs, id = topic->id, before = topic->latest.view] { return runs.Changes(id, before); };
  const auto begin = std::chrono::steady_clock::now();
  Compute(views, read, [this, topic, begin](const Outcome<ViewEvent>& found) {
    Publish(topic, found);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    WaitForChange(topic, std::max<std::chrono::nanoseconds>(kChangesEvery, (kShareOfReading - 1) * took));
  });
}

/// A run that cannot be read is looked at again; a run that is gone ends the streams.
void Server::Publish(const std::shared_ptr<Topic>& topic, const Outcome<ViewEvent>& found) {
  const auto* error = std::get_if<Error>(&found);
  const bool is_gone = error != nullptr && error->kind() == ErrorKind::kUsage;
  const auto* next = std::get_if<ViewEvent>(&found);
  const bool has_news = next != nullptr && next->event;
  if (has_news) topic->latest = *next;
  const auto now = std::chrono::steady_clock::now();
  const bool is_silent = now - topic->sent >= kKeepAliveEvery;
  for (const auto& follower : topic->followers) {
    const auto connection = follower.lock();
    if (!connection) continue;
    if (is_gone) connection->Close();
    if (has_news) connection->Send(topic->latest.event);
    if (is_silent && !has_news) connection->KeepAlive();
  }
  if (has_news || is_silent) topic->sent = now;
}

bool Server::Run() {
  signals_.async_wait([this](error_code, int) { io_.stop(); });
  Accept();
  ReadAhead();
  io_.run();
  lists.stop();
  views.stop();
  const auto deadline = std::chrono::steady_clock::now() + kPatienceAtEnd;
  while (busy_ > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return busy_ == 0;
}

// ---- listening

tcp::endpoint EndpointOf(net::io_context& io, const std::string& host, std::uint16_t port) {
  error_code error;
  const auto found = tcp::resolver(io).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("--host {}: {}", host, error.message()),
                "give an address or a name of this machine, or leave --host out");
  }
  return found.begin()->endpoint();
}

[[noreturn]] void ThrowCannotListen(const tcp::endpoint& endpoint, const error_code& error) {
  const auto address = endpoint.address().to_string();
  if (error == net::error::address_in_use) {
    throw Error(ErrorKind::kBusy, fmt::format("port {} of {} is in use", endpoint.port(), address),
                "give another one, or let the system choose: slipway serve --port 0");
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("cannot listen on port {} of {}: {}", endpoint.port(), address, error.message()),
              "use an address of this machine and a port above 1023, or leave --host and --port out");
}

}  // namespace

struct HttpServer::State {
  net::io_context io{1};
  tcp::acceptor acceptor{io};
  std::string address;
  std::uint16_t port = 0;
  std::optional<Server> server;
};

HttpServer::HttpServer(const std::string& host, std::uint16_t port) : state_(std::make_unique<State>()) {
  const auto endpoint = EndpointOf(state_->io, host, port);
  auto& acceptor = state_->acceptor;
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);  // after an earlier server has ended
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error) ThrowCannotListen(endpoint, error);
  state_->address = endpoint.address().to_string();
  state_->port = acceptor.local_endpoint().port();
}

HttpServer::~HttpServer() = default;

const std::string& HttpServer::address() const { return state_->address; }
std::uint16_t HttpServer::port() const { return state_->port; }

bool HttpServer::Serve(const Access& access, RunSource& runs) {
  state_->server.emplace(state_->io, state_->acceptor, access, runs);
  return state_->server->Run();
}

}  // namespace slipway::launcher
