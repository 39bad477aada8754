#include "staging/generation/owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kForm = "slipway.owner/1";
constexpr std::string_view kUnknown = "-";
constexpr std::size_t kTokenDigits = 16;

std::string NewToken() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

Owner Self() {
  auto host = HostName();
  return {NewToken(), IdentityOf(::getpid()), host.empty() ? std::string(kUnknown) : std::move(host)};
}

/// What is in the file of `directory`, and when it was last touched. Opened: that asks the server of a network file
/// system, where stat(2) may tell what was a minute ago.
struct Claim {
  std::optional<Owner> owner;
  WallTime touched;
};

std::optional<Claim> ReadClaim(const fs::path& directory) {
  const auto path = directory / kOwnerName;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!fd) ThrowErrno(fmt::format("cannot open '{}'", path.string()));
  char text[512];
  const auto count = CheckErrno(::read(fd.get(), text, sizeof text), "cannot read who is at work");
  struct stat info {};
  CheckErrno(::fstat(fd.get(), &info), "cannot ask who is at work");
  return Claim{ParseOwner({text, static_cast<std::size_t>(count)}),
               std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec)};
}

bool IsOfThisMachine(const Owner& owner, const Owner& self) {
  return owner.process.boot_id == self.process.boot_id && owner.host == self.host;
}

/// Machines whose clocks differ by more than that are no reason to wait for ever.
bool IsFresh(const Claim& claim) {
  constexpr std::chrono::seconds kBeingMade(5);
  const std::chrono::seconds quiet = claim.owner ? std::chrono::seconds(kOwnerQuiet) : kBeingMade;
  const auto age = SystemClock().Now() - claim.touched;
  return age < quiet && -age < quiet;
}

bool IsAtWork(const Claim& claim, const Owner& self) {
  if (claim.owner && IsOfThisMachine(*claim.owner, self)) return IsAlive(claim.owner->process);
  return IsFresh(claim);
}

std::string Describe(const std::optional<Owner>& owner) {
  return owner ? fmt::format("process {} on {}", owner->process.pid, owner->host) : "a process of another machine";
}

[[noreturn]] void ThrowTaken(const fs::path& directory, const std::optional<Owner>& by) {
  throw Error(ErrorKind::kBusy,
              fmt::format("'{}' has been taken over by {}, which stages the same data", directory.string(),
                          by ? Describe(by) : "another process"),
              "start again: what that run stages is adopted then");
}

/// True when the file was made; false when there is one.
bool MakeClaim(const fs::path& directory, const Owner& owner) {
  const auto path = directory / kOwnerName;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!fd && errno == EEXIST) return false;
  if (!fd) ThrowErrno(fmt::format("cannot create '{}'", path.string()));
  WriteAll(fd.get(), RenderOwner(owner), path);
  return true;
}

}  // namespace

std::string RenderOwner(const Owner& owner) {
  const auto& process = owner.process;
  return fmt::format("{} {} {} {} {} {}\n", kForm, owner.token, process.pid, process.start_time,
                     process.boot_id.empty() ? kUnknown : process.boot_id, owner.host);
}

std::optional<Owner> ParseOwner(std::string_view text) {
  if (!text.ends_with('\n')) return {};
  std::istringstream words{std::string(text)};
  std::string form;
  Owner owner;
  words >> form >> owner.token >> owner.process.pid >> owner.process.start_time >> owner.process.boot_id >> owner.host;
  if (!words || form != kForm || owner.token.size() != kTokenDigits) return {};
  if (owner.process.boot_id == kUnknown) owner.process.boot_id.clear();
  return owner;
}

std::optional<std::string> WhoWorksIn(const fs::path& directory) {
  const auto claim = ReadClaim(directory);
  if (!claim || !IsAtWork(*claim, Self())) return {};
  return Describe(claim->owner);
}

Ownership::Ownership(fs::path directory) : directory_(std::move(directory)), self_(Self()) {
  if (!MakeClaim(directory_, self_)) {
    const auto last = ReadClaim(directory_);
    if (last && IsAtWork(*last, self_)) ThrowTaken(directory_, last->owner);
    ::unlink((directory_ / kOwnerName).c_str());
    if (!MakeClaim(directory_, self_)) ThrowTaken(directory_, {});
    // Two may have found the same dead owner at the same time: the slower one has removed the claim of the quicker.
    if (!last || !last->owner || !IsOfThisMachine(*last->owner, self_)) SystemClock().Sleep(std::chrono::seconds(1));
    CheckIn(directory_);
  }
  beat_ = std::jthread([this](const std::stop_token& stop) { Beat(stop); });
}

bool Ownership::IsOursIn(const fs::path& directory) const {
  const auto claim = ReadClaim(directory);
  return claim && claim->owner && claim->owner->token == self_.token;
}

void Ownership::Check() const {
  if (lost_) CheckIn(directory_);
}

void Ownership::CheckIn(const fs::path& directory) const {
  if (IsOursIn(directory)) return;
  lost_ = true;
  const auto claim = ReadClaim(directory);
  ThrowTaken(directory_, claim ? claim->owner : std::nullopt);
}

void Ownership::GiveUp(const fs::path& directory) noexcept {
  try {
    beat_ = {};
    if (IsOursIn(directory)) ::unlink((directory / kOwnerName).c_str());
  } catch (const std::exception&) {  // it grows old by itself
  }
}

void Ownership::Beat(const std::stop_token& stop) {
  const auto path = directory_ / kOwnerName;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, kOwnerBeat, [&] { return stop.stop_requested(); })) {
    try {
      if (!IsOursIn(directory_)) lost_ = true;
      if (!lost_) ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    } catch (const Error&) {  // the next beat may be able to ask
    }
  }
}

}  // namespace slipway::staging
