#include "staging/foreign/messages.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::uint64_t kLargestPart = std::uint64_t{1} << 36;

struct Lengths {
  std::uint64_t head = 0;
  std::uint64_t bytes = 0;
};

[[noreturn]] void ThrowNoMessage() {
  throw Error(ErrorKind::kEnvironment, "the other side of a helper's socket speaks another language");
}

void SendAll(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    bytes = bytes.subspan(static_cast<std::size_t>(CheckErrno(count, "cannot speak to a helper")));
  }
}

/// How many bytes came before the end of the stream.
std::size_t ReceiveAll(int socket, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::recv(socket, bytes.data() + done, bytes.size() - done, 0);
    if (count < 0 && (errno == EINTR)) continue;
    if (count == 0 || (count < 0 && errno == ECONNRESET)) break;
    done += static_cast<std::size_t>(CheckErrno(count, "cannot listen to a helper"));
  }
  return done;
}

template <class Item>
Json ListOf(const std::vector<Item>& items, Json (*render)(const Item&)) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(render(item));
  return list;
}

NumberType NumberTypeFrom(const Json& document) {
  const auto number = document.get<int>();
  if (number < 0 || number > static_cast<int>(NumberType::kFloat64)) throw std::out_of_range("unknown number type");
  return static_cast<NumberType>(number);
}

Json RenderDataset(const Hdf5Dataset& dataset) {
  return {{"name", dataset.name}, {"type", static_cast<int>(dataset.type)}, {"shape", dataset.shape}};
}

Hdf5Dataset DatasetFrom(const Json& document) {
  Hdf5Dataset dataset{document.at("name"), NumberTypeFrom(document.at("type")), document.at("shape")};
  if (dataset.shape.empty()) throw std::out_of_range("a dataset without rows");
  return dataset;
}

Json RenderOther(const Hdf5Other& other) {
  return {{"name", other.name},
          {"what", other.what},
          {"shape", other.shape},
          {"is_bytes", other.is_bytes},
          {"bytes_per_row", other.bytes_per_row}};
}

Hdf5Other OtherFrom(const Json& document) {
  return {document.at("name"), document.at("what"), document.at("shape"), document.at("is_bytes"),
          document.at("bytes_per_row")};
}

Json RenderUnread(const Hdf5Unread& unread) {
  return {{"name", unread.name}, {"why", unread.why}, {"next_step", unread.next_step}};
}

}  // namespace

void SendHelperMessage(int socket, const Json& head, std::span<const std::byte> bytes) {
  const auto packed = Json::to_msgpack(head);
  const Lengths lengths{packed.size(), bytes.size()};
  SendAll(socket, std::as_bytes(std::span(&lengths, 1)));
  SendAll(socket, std::as_bytes(std::span(packed)));
  SendAll(socket, bytes);
}

std::optional<HelperMessage> ReceiveHelperMessage(int socket) {
  Lengths lengths;
  const auto begun = ReceiveAll(socket, std::as_writable_bytes(std::span(&lengths, 1)));
  if (begun < sizeof lengths) return {};
  if (lengths.head > kLargestPart || lengths.bytes > kLargestPart) ThrowNoMessage();
  std::vector<std::uint8_t> packed(lengths.head);
  HelperMessage message;
  message.bytes.resize(lengths.bytes);
  if (ReceiveAll(socket, std::as_writable_bytes(std::span(packed))) < packed.size()) return {};
  if (ReceiveAll(socket, message.bytes) < message.bytes.size()) return {};
  message.head = Json::from_msgpack(packed, true, false);
  if (!message.head.is_object()) ThrowNoMessage();
  return message;
}

Json ToJson(const Hdf5FileContents& contents) {
  return {{"datasets", ListOf(contents.datasets, RenderDataset)}, {"others", ListOf(contents.others, RenderOther)}};
}

Hdf5FileContents ContentsFrom(const Json& document) {
  Hdf5FileContents contents;
  for (const auto& dataset : document.at("datasets")) contents.datasets.push_back(DatasetFrom(dataset));
  for (const auto& other : document.at("others")) contents.others.push_back(OtherFrom(other));
  return contents;
}

Json ToJson(const Hdf5Verification& verification) {
  return {{"summed_bytes", verification.summed_bytes},
          {"unsummed_bytes", verification.unsummed_bytes},
          {"unread", ListOf(verification.unread, RenderUnread)}};
}

Hdf5Verification VerificationFrom(const Json& document) {
  Hdf5Verification verification{document.at("summed_bytes"), document.at("unsummed_bytes"), {}};
  for (const auto& unread : document.at("unread")) {
    verification.unread.push_back({unread.at("name"), unread.at("why"), unread.at("next_step")});
  }
  return verification;
}

}  // namespace slipway::staging
