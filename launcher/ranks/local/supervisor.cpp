#include "launcher/ranks/local/supervisor.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/log.h"
#include "launcher/ranks/supervisor/protocol.h"

namespace slipway::launcher {
namespace {

/// For the end of a program that is killed at once. The manager serves nothing else meanwhile, so it waits less long
/// than for a start.
constexpr auto kKillPatience = std::chrono::seconds(10);

void Append(std::string& strings, std::string_view text) { strings.append(text).push_back('\0'); }

/// As launcher/ranks/supervisor/protocol.h says.
std::string StartOrder(std::uint64_t id, const ProgramStart& start) {
  std::string strings;
  Append(strings, supervisor::kStart);
  Append(strings, std::to_string(id));
  Append(strings, start.log_directory.native());
  Append(strings, std::to_string(start.grace.count()));
  Append(strings, fmt::format("{}", fmt::join(start.cores, ",")));
  Append(strings, start.working_directory.native());
  Append(strings, std::to_string(start.command.size()));
  for (const auto& word : start.command) Append(strings, word);
  for (const auto& variable : start.environment.entries()) Append(strings, variable);
  return strings;
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Supervisor::Supervisor(EventLoop& loop, std::unique_ptr<SupervisorHost> host, std::chrono::milliseconds start_patience)
    : loop_(loop), host_(std::move(host)), start_patience_(start_patience) {}

Supervisor::~Supervisor() {
  if (deliver_) loop_.Cancel(*deliver_);
  if (patience_) loop_.Cancel(*patience_);
  if (socket_) loop_.Forget(socket_.get());
  socket_.Reset();
  host_->Leave();
}

void Supervisor::Begin() {
  socket_ = host_->Begin();
  loop_.OnReadable(socket_.get(), [this] {
    if (!Receive(std::chrono::milliseconds(0))) Gone();
    Deliver();
  });
}

bool Supervisor::Send(const std::string& strings) const {
  const auto length = static_cast<supervisor::FrameLength>(strings.size());
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  return SendAll(socket_.get(), frame += strings);
}

/// A failed send is ignored: the end of the socket shows that the supervisor is gone.
void Supervisor::SendOrder(const char* order, std::uint64_t id, const std::string& argument) const {
  if (!socket_) return;
  std::string strings;
  Append(strings, order);
  Append(strings, std::to_string(id));
  if (!argument.empty()) Append(strings, argument);
  Send(strings);
}

ProcessIdentity Supervisor::SupervisorIdentity() {
  if (!host_->Trouble().empty()) Gone();
  if (!socket_) Begin();
  return host_->Identity();
}

SupervisedProgram Supervisor::Prepare(const ProgramStart& start, Ended ended) {
  const auto supervisor = SupervisorIdentity();
  const auto id = next_id_++;
  programs_.emplace(id, Watched{StartOrder(id, start), std::move(ended)});
  return {id, supervisor};
}

void Supervisor::Go(std::uint64_t id) {
  const auto found = programs_.find(id);
  if (found == programs_.end() || found->second.order.empty()) return;
  if (!socket_ || !Send(found->second.order)) return Gone();
  found->second.order.clear();
  found->second.ordered = SystemClock().Steady();
  WatchStarts();
}

/// A supervisor that is stuck is found by a start that it does not answer.
void Supervisor::WatchStarts() {
  if (patience_) return;
  patience_ = loop_.After(start_patience_, [this] {
    patience_.reset();
    const auto since = SystemClock().Steady() - start_patience_;
    bool any = false;
    for (const auto& [id, program] : programs_) {
      const bool waits = program.order.empty() && program.pid == 0;
      if (waits && program.ordered <= since) return End();
      any = any || waits;
    }
    if (any) WatchStarts();
  });
}

bool Supervisor::AwaitEnd(std::uint64_t id) {
  const auto is_end = [&](const Line& line) { return line.id == id; };
  while (std::none_of(lines_.begin(), lines_.end(), is_end)) {
    if (!Receive(kKillPatience)) return false;
  }
  std::erase_if(lines_, is_end);
  DeliverSoon();
  return true;
}

/// What has arrived, or arrives within `patience`, as lines. False at the end, and when nothing comes that was waited
/// for.
bool Supervisor::Receive(std::chrono::milliseconds patience) {
  pollfd watch{socket_.get(), POLLIN, 0};
  if (::poll(&watch, 1, static_cast<int>(patience.count())) == 0) return patience.count() == 0;
  char buffer[4096];
  const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) return false;
  unread_.Add({buffer, static_cast<std::size_t>(count)});
  for (std::string_view line; unread_.Next(line);) TakeLine(line);
  return !unread_.overlong();
}

void Supervisor::TakeLine(std::string_view text) {
  log::Debug("the supervisor says: {}", text);
  LineWords words(text);
  Line line;
  line.word = words.Word();
  line.id = words.Take<std::uint64_t>();
  line.first = words.Take<int>();
  if (line.word == supervisor::kExited) line.second = words.Take<int>();
  if (!words.AtEnd()) return log::Warn("'{}' is no line of a supervisor", text);
  if (line.word != supervisor::kStarted) return lines_.push_back(std::move(line));
  if (const auto program = programs_.find(line.id); program != programs_.end()) program->second.pid = line.first;
}

void Supervisor::DeliverSoon() {
  if (lines_.empty() || deliver_) return;
  deliver_ = loop_.After({}, [this] {
    deliver_.reset();
    Deliver();
  });
}

void Supervisor::Deliver() {
  for (const auto& line : std::exchange(lines_, {})) {
    if (line.word == supervisor::kFailed) Conclude(line.id, {.start_error = line.first});
    if (line.word == supervisor::kExited) {
      Conclude(line.id, {.status = {line.first, line.second}, .trouble = line.trouble});
    }
  }
}

void Supervisor::Conclude(std::uint64_t id, SupervisedEnd end) {
  const auto program = programs_.extract(id);
  if (program.empty()) return;
  end.pid = program.mapped().pid;
  end.was_ordered = program.mapped().order.empty();
  if (program.mapped().ended) program.mapped().ended(end);
}

/// The kernel has killed its programs; what they have started is ended here. What it has said before still counts.
void Supervisor::Gone() {
  if (!socket_) return;
  log::Warn("the supervisor of the programs is gone, and its {} programs with it", programs_.size());
  loop_.Forget(socket_.get());
  socket_.Reset();
  unread_.Clear();
  std::vector<std::uint64_t> unnamed;  // the supervisor was killed before it named their processes
  for (auto& [id, program] : programs_) {
    if (program.pid > 0) host_->KillGroup(program.pid);
    if (program.pid == 0 && program.order.empty()) unnamed.push_back(id);
    lines_.push_back({supervisor::kExited, id, 0, SIGKILL, host_->Trouble()});
  }
  if (!unnamed.empty()) host_->KillByTag(unnamed);
  DeliverSoon();
}

void Supervisor::Signal(std::uint64_t id, int number) {
  const auto program = programs_.find(id);
  const bool was_ordered = program != programs_.end() && program->second.order.empty();
  if (was_ordered) SendOrder(supervisor::kSignal, id, std::to_string(number));
}

void Supervisor::Stop(std::uint64_t id) {
  const auto program = programs_.find(id);
  if (program == programs_.end()) return;
  if (program->second.order.empty()) return SendOrder(supervisor::kStop, id);
  lines_.push_back({supervisor::kExited, id});
  DeliverSoon();
}

void Supervisor::KillNow(std::uint64_t id) {
  const auto program = programs_.find(id);
  if (program == programs_.end()) return;
  if (program->second.order.empty()) {
    SendOrder(supervisor::kKill, id);
    if (socket_ && !AwaitEnd(id)) Gone();
  }
  programs_.erase(id);
}

void Supervisor::End() {
  host_->Kill();
  Gone();
}

}  // namespace slipway::launcher
