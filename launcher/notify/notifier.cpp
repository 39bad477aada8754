#include "launcher/notify/notifier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/install.h"
#include "core/memory_file.h"
#include "core/process.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

constexpr auto kLongestDelivery = std::chrono::seconds(60);  ///< four tries of a webhook take 45 s at most
constexpr auto kLongestFarewell = std::chrono::seconds(5);
constexpr std::size_t kMostWaitingNotices = 32;
constexpr std::size_t kMostWords = 2000;  ///< kept of what a delivery prints

/// Errors: Error(kEnvironment) when the variable that holds it is not set.
std::string UrlOf(const SecretUrl& webhook) {
  if (!webhook.url.empty()) return webhook.url;
  const char* value = std::getenv(webhook.variable.c_str());
  if (value != nullptr && *value != '\0') return value;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the environment variable '{}' is not set where the manager runs", webhook.variable),
              fmt::format("set it before the run begins: export {}=URL", webhook.variable));
}

}  // namespace

/// A process that delivers a notice.
struct Notifier::Delivery {
  Delivery(NotifyOn about, ChildProcess process, UniqueFd its_words)
      : event(about), child(std::move(process)), words(std::move(its_words)) {}

  /// Some of what it has printed, of which the last is kept. False: nothing more comes.
  bool Read() {
    char buffer[1 << 16];
    const ssize_t count = ::read(words.get(), buffer, sizeof buffer);
    if (count > 0) said.append(buffer, static_cast<std::size_t>(count));
    if (said.size() > kMostWords) said.erase(0, said.size() - kMostWords);
    return count > 0 || (count < 0 && errno == EAGAIN);
  }

  NotifyOn event;
  ChildProcess child;
  UniqueFd words;
  std::string said = {};
  EventLoop::TimerId limit = 0;
};

struct Notifier::Entry {
  NotifySpec spec;
  std::deque<Notice> waiting = {};
  std::unique_ptr<Delivery> delivery = {};
};

Notifier::Notifier(const RunFolder& folder, NotifyOrder order, EventLoop& loop, Output& output)
    : folder_(folder), order_(std::move(order)), loop_(loop), output_(output) {
  for (const auto& spec : order_.entries) entries_.push_back(std::make_unique<Entry>(Entry{spec}));
}

Notifier::~Notifier() {
  for (auto& entry : entries_) Abandon(*entry, "");
}

Notice Notifier::NoticeOf(std::string state, std::string reason) const {
  Notice notice;
  notice.run = folder_.id();
  notice.name = order_.name;
  notice.state = std::move(state);
  notice.reason = std::move(reason);
  notice.best = best_;
  notice.trial = best_trial_;
  notice.folder = folder_.path().string();
  notice.host = HostName();
  notice.time = UnixSeconds(SystemClock().Now());
  return notice;
}

void Notifier::RunEnded(const RunState& state) {
  auto notice = NoticeOf(std::string(PhaseName(state.phase)), state.reason);
  notice.metrics = state.metrics;
  const bool failed = state.phase == Phase::kFailed || state.phase == Phase::kLost;
  Send(failed ? std::vector{NotifyOn::kFailure, NotifyOn::kEnd} : std::vector{NotifyOn::kEnd}, std::move(notice));
}

void Notifier::AttemptFailed(const RunState& state) {
  Send({NotifyOn::kFailure},
       NoticeOf("running", fmt::format("attempt {} failed and starts again: {}", state.attempt, state.reason)));
}

void Notifier::StepFailed(const std::string& step, const std::string& reason) {
  Send({NotifyOn::kFailure}, NoticeOf("running", fmt::format("step '{}' failed: {}", step, FirstLine(reason))));
}

void Notifier::KnowBest(const BestTrial& best) {
  best_ = fmt::format("{} {:.6g}", best.metric, best.value);
  best_trial_ = std::to_string(best.trial);
}

void Notifier::FoundBest(const BestTrial& best) {
  KnowBest(best);
  Send({NotifyOn::kBest}, NoticeOf("running", ""));
}

void Notifier::FoundHang(const std::string& message) { Send({NotifyOn::kHang}, NoticeOf("running", message)); }

void Notifier::Send(const std::vector<NotifyOn>& events, Notice notice) {
  for (auto& entry : entries_) {
    const auto event = EventFor(entry->spec, events);
    if (!event) continue;
    notice.event = *event;
    auto& waiting = entry->waiting;
    if (*event == NotifyOn::kBest)
      std::erase_if(waiting, [](const Notice& old) { return old.event == NotifyOn::kBest; });
    if (waiting.size() == kMostWaitingNotices) {
      Fail(*entry, waiting.front().event, fmt::format("{} others wait", kMostWaitingNotices));
      waiting.pop_front();
    }
    waiting.push_back(notice);
    StartNext(*entry);
  }
}

void Notifier::StartNext(Entry& entry) {
  while (!entry.delivery && !entry.waiting.empty()) {
    const auto notice = std::move(entry.waiting.front());
    entry.waiting.pop_front();
    try {
      Start(entry, notice);
    } catch (const std::exception& error) {
      Fail(entry, notice.event, error.what());
    }
  }
}

void Notifier::Start(Entry& entry, const Notice& notice) {
  const auto& spec = entry.spec;
  const auto body = BodyFor(spec, notice);
  auto environment = Environment::Inherited();
  for (const auto& [name, value] : VariablesFor(notice)) environment.Set(name, value);
  const auto input = FileInMemory(spec.webhook ? Json{{"url", UrlOf(*spec.webhook)}, {"body", body}}.dump() : body);
  auto pipe = MakePipe();
  CheckErrno(::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK), "cannot set up a pipe");
  SpawnOptions options;
  options.argv = spec.webhook ? std::vector{HelperProgram("slipway-notify").string()} : spec.command;
  options.environment = std::move(environment);
  const auto& beside_spec = order_.directory;
  options.working_directory = std::filesystem::is_directory(beside_spec) ? beside_spec : folder_.path();
  options.stdin_fd = input.get();
  options.stdout_fd = pipe.write.get();
  options.stderr_fd = pipe.write.get();
  entry.delivery = std::make_unique<Delivery>(notice.event, ChildProcess::Spawn(options), std::move(pipe.read));
  auto& delivery = *entry.delivery;
  loop_.OnReadable(delivery.words.get(), [this, &entry] {
    if (!entry.delivery->Read()) loop_.Forget(entry.delivery->words.get());
  });
  loop_.OnReadable(delivery.child.pidfd(), [this, &entry] { TakeEnd(entry); });
  delivery.limit = loop_.After(kLongestDelivery, [this, &entry] {
    const auto event = entry.delivery->event;
    Abandon(entry, "");
    Fail(entry, event, fmt::format("it took more than {}", FormatDuration(kLongestDelivery)));
    StartNext(entry);
  });
}

void Notifier::TakeEnd(Entry& entry) {
  auto& delivery = *entry.delivery;
  const auto status = delivery.child.TryWait();
  if (!status) return;
  delivery.Read();
  const auto event = delivery.event;
  const std::string said(LastLine(delivery.said));
  Abandon(entry, "");
  if (!status->Success()) Fail(entry, event, said.empty() ? status->Describe() : said);
  StartNext(entry);
}

/// Ends what is under way. `why`: what is said of it; empty: nothing.
void Notifier::Abandon(Entry& entry, const std::string& why) {
  if (!entry.delivery) return;
  loop_.Forget(entry.delivery->words.get());
  loop_.Forget(entry.delivery->child.pidfd());
  loop_.Cancel(entry.delivery->limit);
  const auto event = entry.delivery->event;
  entry.delivery.reset();
  if (!why.empty()) Fail(entry, event, why);
}

void Notifier::Fail(const Entry& entry, NotifyOn event, const std::string& why) {
  const auto reason =
      fmt::format("the notification of '{}' by {} failed: {}", WordOf(event), Describe(entry.spec), why);
  output_.Warn(reason + "; the run is not affected");
  try {
    folder_.AppendEvent("notify_failed", Json{{"on", WordOf(event)}, {"reason", reason}});
  } catch (const SystemError&) {
    // The disk is full: only the warning above reports it.
  }
}

void Notifier::Finish(const Interrupt& interrupt) {
  const auto until = SystemClock().Steady() + kLongestFarewell;
  const auto asked = interrupt.count();
  const auto is_busy = [](const auto& entry) { return entry->delivery != nullptr; };
  while (std::ranges::any_of(entries_, is_busy) && interrupt.count() == asked) {
    const auto left = until - SystemClock().Steady();
    if (left <= left.zero()) break;
    output_.Progress("sending notifications");
    loop_.RunOnce(left);
  }
  output_.Progress("");
  for (auto& entry : entries_) {
    Abandon(*entry, fmt::format("no answer within {} of the end of the run", FormatDuration(kLongestFarewell)));
    for (const auto& notice : std::exchange(entry->waiting, {}))
      Fail(*entry, notice.event, "those before it took too long");
  }
}

}  // namespace slipway::launcher
