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

namespace slipway {
struct DocumentName;
}

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

/// Hdf5Layout without the places of its chunks.
struct Hdf5StoredAs {
  Hdf5Storage storage = Hdf5Storage::kOther;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunk_shape;
  std::uint64_t chunks = 0;
  std::vector<std::string> filters;
};

Json ToJson(const Hdf5FileContents& contents);
Json ToJson(const Hdf5Verification& verification);
Json ToJson(const Hdf5StoredAs& stored);
// Reading what the other side wrote; `name` is what messages call it. Errors: DocumentError.
Hdf5FileContents ContentsFrom(const Json& document, const DocumentName& name);
Hdf5Verification VerificationFrom(const Json& document, const DocumentName& name);
Hdf5StoredAs StoredAsFrom(const Json& document, const DocumentName& name);

}  // namespace slipway::staging
