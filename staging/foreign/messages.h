/// What `slipway-hdf5` and the program that started it say to each other over a socket.
///
/// A message is a head (a JSON object in MessagePack: names in HDF5 files need not be UTF-8) and bytes.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

/// The helper's program in libexec/slipway. It speaks on its standard input.
inline constexpr std::string_view kHdf5Helper = "slipway-hdf5";

struct HelperMessage {
  Json head;
  std::vector<std::byte> bytes;
};

/// Errors: SystemError, also when the other side is gone.
void SendHelperMessage(int socket, const Json& head, std::span<const std::byte> bytes = {});
/// Nothing at the end of the stream. Errors: SystemError; Error(kEnvironment) for what is no message.
std::optional<HelperMessage> ReceiveHelperMessage(int socket);

/// Datasets() and Others() of a file.
struct Hdf5FileContents {
  std::vector<Hdf5Dataset> datasets;
  std::vector<Hdf5Other> others;
};

// Reading what the other side wrote. Errors: those of nlohmann-json; std::out_of_range.
Json ToJson(const Hdf5FileContents& contents);
Hdf5FileContents ContentsFrom(const Json& document);
Json ToJson(const Hdf5Verification& verification);
Hdf5Verification VerificationFrom(const Json& document);

}  // namespace slipway::staging
