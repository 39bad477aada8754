#include "runtime/watch/hand_over.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace slipway::runtime {
namespace {

constexpr std::uint32_t kMostLines = 65536;

/// A header, and beside it room for one descriptor.
struct Message {
  explicit Message(HandedHeader& header) : part{&header, sizeof header} {
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

bool HandOver(const std::filesystem::path& keeper, int memory, std::size_t lines) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (keeper.native().size() >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, keeper.c_str());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
  HandedHeader header;
  header.lines = static_cast<std::uint32_t>(lines);
  header.process = ::getpid();
  Message message(header);
  auto* beside = CMSG_FIRSTHDR(&message.message);
  beside->cmsg_level = SOL_SOCKET;
  beside->cmsg_type = SCM_RIGHTS;
  beside->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(beside), &memory, sizeof memory);
  return ::sendmsg(socket.get(), &message.message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof header);
}

std::optional<HandedBoard> HandedBoard::Receive(int socket) {
  HandedHeader header;
  header.version = 0;
  Message message(header);
  const auto count = ::recvmsg(socket, &message.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  HandedBoard board;
  if (count > 0) board.memory_ = DescriptorIn(message.message);
  const bool known = count == static_cast<ssize_t>(sizeof header) && header.version == HandedHeader::kVersion &&
                     header.line_bytes == sizeof(BoardLine);
  if (!known || !board.memory_ || header.lines == 0 || header.lines > kMostLines) return std::nullopt;
  board.lines_ = header.lines;
  board.same_processes_ = ProcessBehind(socket) == header.process;
  return board;
}

bool HandedBoard::Read(std::vector<BoardLine>& into) const {
  into = std::vector<BoardLine>(lines_);
  const auto bytes = lines_ * sizeof(BoardLine);
  const bool whole = ::pread(memory_.get(), static_cast<void*>(into.data()), bytes, 0) == static_cast<ssize_t>(bytes);
  for (auto& line : into) {
    for (auto& team : line.teams) team.back() = '\0';
  }
  return whole;
}

void HandedBoard::Answer(std::string_view text) const {
  const auto at = static_cast<off_t>(lines_ * sizeof(BoardLine));
  const auto length = static_cast<std::uint32_t>(std::min(text.size(), BoardAnswer::kLongest));
  const auto text_at = at + static_cast<off_t>(offsetof(BoardAnswer, text));
  if (::pwrite(memory_.get(), text.data(), length, text_at) != static_cast<ssize_t>(length)) return;
  (void)!::pwrite(memory_.get(), &length, sizeof length, at);
}

}  // namespace slipway::runtime
