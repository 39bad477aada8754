#include "launcher/ranks/supervisor/request.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/ranks/supervisor/protocol.h"

namespace slipway::supervisor {
namespace {

/// The strings of a frame, one after the other.
class Strings {
 public:
  Strings(char* at, std::size_t bytes) : at_(at), end_(at + bytes) {}

  bool AtEnd() const { return at_ >= end_; }
  char* Next() {
    static char none[] = "";
    if (AtEnd()) return none;
    char* text = at_;
    at_ += strnlen(at_, static_cast<std::size_t>(end_ - at_)) + 1;
    return text;
  }

 private:
  char* at_;
  char* end_;
};

}  // namespace

Request ReadRequest(char* frame, std::size_t bytes) {
  Strings strings(frame, bytes);
  Request request;
  request.order = strings.Next();
  request.id = strtoull(strings.Next(), nullptr, 10);
  if (strcmp(request.order, kSignal) == 0) request.signal = atoi(strings.Next());
  if (strcmp(request.order, kStart) != 0) return request;
  request.folder = strings.Next();
  request.grace_ms = atoi(strings.Next());
  request.cores = strings.Next();
  request.directory = strings.Next();
  for (long left = atol(strings.Next()); left > 0 && !strings.AtEnd(); --left) request.words.push_back(strings.Next());
  while (!strings.AtEnd()) request.variables.push_back(strings.Next());
  request.words.push_back(nullptr);
  request.variables.push_back(nullptr);
  return request;
}

bool TakeFrame(std::string& received, std::string& frame) {
  FrameLength length = 0;
  if (received.size() < sizeof length) return false;
  memcpy(&length, received.data(), sizeof length);
  if (received.size() - sizeof length < length) return false;
  frame.assign(received, sizeof length, length);
  received.erase(0, sizeof length + length);
  return true;
}

}  // namespace slipway::supervisor
