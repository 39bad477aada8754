#include "staging/foreign/messages.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"

namespace slipway::staging {
template <class Visitor, MaybeConst<Hdf5Dataset> Struct>
void Visit(Visitor& visit, Struct& dataset) {
  visit("name", dataset.name);
  visit("type", dataset.type);
  visit("shape", dataset.shape);
}

template <class Visitor, MaybeConst<Hdf5Other> Struct>
void Visit(Visitor& visit, Struct& other) {
  visit("name", other.name);
  visit("what", other.what);
  visit("shape", other.shape);
  visit("is_bytes", other.is_bytes);
  visit("bytes_per_row", other.bytes_per_row);
}

template <class Visitor, MaybeConst<Hdf5FileContents> Struct>
void Visit(Visitor& visit, Struct& contents) {
  visit("datasets", contents.datasets);
  visit("others", contents.others);
}

template <class Visitor, MaybeConst<Hdf5Unread> Struct>
void Visit(Visitor& visit, Struct& unread) {
  visit("name", unread.name);
  visit("why", unread.why);
  visit("next_step", unread.next_step);
}

template <class Visitor, MaybeConst<Hdf5Verification> Struct>
void Visit(Visitor& visit, Struct& verification) {
  visit("summed_bytes", verification.summed_bytes);
  visit("unsummed_bytes", verification.unsummed_bytes);
  visit("unread", verification.unread);
}

namespace {

constexpr std::uint64_t kLargestPart = std::uint64_t{1} << 36;

struct Lengths {
  std::uint64_t head = 0;
  std::uint64_t bytes = 0;
};

[[noreturn]] void ThrowNoMessage() {
  throw Error(ErrorKind::kEnvironment, "the other side of a helper's socket speaks another language",
              "install Slipway again: its programs must be of one version");
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

template <class Visitor, MaybeConst<Hdf5StoredAs> Struct>
void Visit(Visitor& visit, Struct& stored) {
  visit("storage", stored.storage);
  visit("bytes", stored.bytes);
  visit("chunk_shape", stored.chunk_shape);
  visit("chunks", stored.chunks);
  visit("filters", stored.filters);
}

Json ToJson(const Hdf5FileContents& contents) { return WriteFields(contents); }
Json ToJson(const Hdf5Verification& verification) { return WriteFields(verification); }
Json ToJson(const Hdf5StoredAs& stored) { return WriteFields(stored); }

Hdf5FileContents ContentsFrom(const Json& document, const DocumentName& name) {
  auto contents = ReadFields<Hdf5FileContents>(document, name);
  for (const auto& dataset : contents.datasets) {
    if (dataset.shape.empty())
      throw DocumentError(name.kind, name.name + " is damaged: a dataset without rows",
                          "the file is damaged: copy it again from its source");
  }
  return contents;
}

Hdf5Verification VerificationFrom(const Json& document, const DocumentName& name) {
  return ReadFields<Hdf5Verification>(document, name);
}

Hdf5StoredAs StoredAsFrom(const Json& document, const DocumentName& name) {
  return ReadFields<Hdf5StoredAs>(document, name);
}

}  // namespace slipway::staging
