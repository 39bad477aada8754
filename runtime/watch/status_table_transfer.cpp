#include "runtime/watch/status_table_transfer.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace slipway::runtime {
namespace {

constexpr std::uint32_t kMostRows = 65536;

/// A message of a header, with space for one descriptor.
struct Message {
  explicit Message(StatusTableHeader& header) : part{&header, sizeof header} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside;
    message.msg_controllen = sizeof beside;
  }

  iovec part;
  alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(int))] = {};  ///< one descriptor
  msghdr message{};
};

UniqueFd DescriptorIn(const msghdr& message) {
  const auto* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return {};
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return UniqueFd(descriptor);
}

pid_t ProcessBehind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

}  // namespace

bool SendStatusTable(const std::filesystem::path& monitor, int memory, std::size_t rows) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (monitor.native().size() >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, monitor.c_str());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
  StatusTableHeader header;
  header.rows = static_cast<std::uint32_t>(rows);
  header.process = ::getpid();
  Message message(header);
  auto* beside = CMSG_FIRSTHDR(&message.message);
  beside->cmsg_level = SOL_SOCKET;
  beside->cmsg_type = SCM_RIGHTS;
  beside->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(beside), &memory, sizeof memory);
  return ::sendmsg(socket.get(), &message.message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof header);
}

std::optional<ReceivedStatusTable> ReceivedStatusTable::Receive(int socket) {
  StatusTableHeader header;
  header.version = 0;
  Message message(header);
  const auto count = ::recvmsg(socket, &message.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  ReceivedStatusTable table;
  if (count > 0) table.memory_ = DescriptorIn(message.message);
  const bool known = count == static_cast<ssize_t>(sizeof header) && header.version == StatusTableHeader::kVersion &&
                     header.row_bytes == sizeof(RankStatusRow);
  if (!known || !table.memory_ || header.rows == 0 || header.rows > kMostRows) return std::nullopt;
  table.rows_ = header.rows;
  table.same_processes_ = ProcessBehind(socket) == header.process;
  return table;
}

bool ReceivedStatusTable::Read(std::vector<RankStatusRow>& into) const {
  into = std::vector<RankStatusRow>(rows_);
  const auto bytes = rows_ * sizeof(RankStatusRow);
  const bool whole = ::pread(memory_.get(), static_cast<void*>(into.data()), bytes, 0) == static_cast<ssize_t>(bytes);
  for (auto& row : into) {
    for (auto& team : row.teams) team.back() = '\0';
  }
  return whole;
}

void ReceivedStatusTable::Answer(std::string_view text) const {
  const auto at = static_cast<off_t>(rows_ * sizeof(RankStatusRow));
  const auto length = static_cast<std::uint32_t>(std::min(text.size(), StallReport::kLongest));
  const auto text_at = at + static_cast<off_t>(offsetof(StallReport, text));
  if (::pwrite(memory_.get(), text.data(), length, text_at) != static_cast<ssize_t>(length)) return;
  (void)!::pwrite(memory_.get(), &length, sizeof length, at);
}

void ReceivedStatusTable::AddDeparture(std::string line) {
  line += '\n';
  if (departures_ + line.size() > TableDepartures::kLongest) return;
  const auto at = static_cast<off_t>(rows_ * sizeof(RankStatusRow) + sizeof(StallReport));
  const auto text_at = at + static_cast<off_t>(offsetof(TableDepartures, text) + departures_);
  if (::pwrite(memory_.get(), line.data(), line.size(), text_at) != static_cast<ssize_t>(line.size())) return;
  departures_ += line.size();
  const auto length = static_cast<std::uint32_t>(departures_);
  (void)!::pwrite(memory_.get(), &length, sizeof length, at);
}

}  // namespace slipway::runtime
