#include "launcher/engines/local/supervisor.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/error.h"
#include "core/log.h"
#include "launcher/supervisor/protocol.h"

namespace slipway::launcher {
namespace {

/// Longer than any fork on a machine that works; a supervisor that does not answer is killed.
constexpr auto kPatience = std::chrono::seconds(10);

void Append(std::string& strings, std::string_view text) { strings.append(text).push_back('\0'); }

/// As launcher/supervisor/protocol.h says.
std::string PrepareOrder(std::uint64_t id, const ProgramStart& start) {
  std::string strings;
  Append(strings, supervisor::kPrepare);
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

Supervisor::Supervisor(EventLoop& loop, std::unique_ptr<SupervisorHost> host) : loop_(loop), host_(std::move(host)) {}

Supervisor::~Supervisor() {
  if (deliver_) loop_.Cancel(*deliver_);
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

/// Whether anybody listens is seen when the end of the socket is.
void Supervisor::SendOrder(const char* order, std::uint64_t id) const {
  if (!socket_ || !programs_.contains(id)) return;
  std::string strings;
  Append(strings, order);
  Append(strings, std::to_string(id));
  Send(strings);
}

SupervisedProgram Supervisor::Prepare(const ProgramStart& start, Ended ended) {
  const auto id = next_id_++;
  const auto order = PrepareOrder(id, start);
  std::optional<Line> answer;
  if (socket_ && Send(order)) answer = AnswerTo(id);
  if (!answer) {
    Gone();
    Begin();
    if (Send(order)) answer = AnswerTo(id);
  }
  if (!answer) {
    const auto trouble = host_->Trouble();
    throw Error(ErrorKind::kEnvironment,
                "cannot start a process: " + (trouble.empty() ? "slipway-supervisor ends at once" : trouble));
  }
  if (answer->word == supervisor::kFailed) throw SystemError(answer->first, "cannot start a process");
  programs_.emplace(id, Watched{answer->first, std::move(ended)});
  return {id, host_->Identify(answer->first)};
}

/// The next line about `id`; other lines are told later. Nothing when the supervisor is gone.
std::optional<Supervisor::Line> Supervisor::AnswerTo(std::uint64_t id) {
  while (true) {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.id == id; });
    if (found != lines_.end()) {
      const auto line = *found;
      lines_.erase(found);
      DeliverSoon();
      return line;
    }
    if (!Receive(kPatience)) return {};
  }
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
  unread_.append(buffer, static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', begin)) {
    char word[16] = {};
    unsigned long long id = 0;
    Line line;
    std::sscanf(unread_.c_str() + begin, "%15s %llu %d %d", word, &id, &line.first, &line.second);
    line.word = word;
    line.id = id;
    lines_.push_back(line);
    begin = end + 1;
  }
  unread_.erase(0, begin);
  return true;
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
    log::Debug("the supervisor says: {} {} {} {}", line.word, line.id, line.first, line.second);
    if (line.word == supervisor::kFailed) Conclude(line.id, {ExitStatus(), line.first, {}});
    if (line.word == supervisor::kExited) Conclude(line.id, {ExitStatus{line.first, line.second}, 0, line.trouble});
  }
}

void Supervisor::Conclude(std::uint64_t id, const SupervisedEnd& end) {
  const auto program = programs_.extract(id);
  if (!program.empty() && program.mapped().ended) program.mapped().ended(end);
}

/// The kernel has killed its programs; what they have started is ended here. What it has said before still counts.
void Supervisor::Gone() {
  if (!socket_) return;
  log::Warn("the supervisor of the programs is gone, and its {} programs with it", programs_.size());
  loop_.Forget(socket_.get());
  socket_.Reset();
  unread_.clear();
  for (auto& [id, program] : programs_) {
    host_->KillGroup(program.group);
    lines_.push_back({supervisor::kExited, id, 0, SIGKILL, host_->Trouble()});
  }
  DeliverSoon();
}

void Supervisor::Go(std::uint64_t id) { SendOrder(supervisor::kGo, id); }

void Supervisor::Stop(std::uint64_t id) { SendOrder(supervisor::kStop, id); }

void Supervisor::KillNow(std::uint64_t id) {
  SendOrder(supervisor::kKill, id);
  if (socket_ && !AnswerTo(id)) Gone();
  programs_.erase(id);
}

void Supervisor::End() { host_->Kill(); }

}  // namespace slipway::launcher
