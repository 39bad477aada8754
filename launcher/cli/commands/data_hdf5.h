/// Texts and documents of `slipway data` for HDF5 files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/json.h"
#include "staging/formats/hdf5.h"

namespace slipway::launcher {

struct Hdf5Info {
  std::optional<std::uint64_t> records;  ///< nothing where the datasets have different numbers of rows, or none
  std::string stored;                    ///< "image: uint8 chunked 2x28x28, shuffle, deflate"
  std::string fields;                    ///< of one record, or of all rows: "lat: float64 (7), names: strings (2)"
  Json layout;                           ///< of the datasets of numbers
  Json field_list;                       ///< as the reader sees them
  Json others;                           ///< datasets that hold no numbers
};

/// Errors: those of ForeignHdf5.
Hdf5Info InfoOfHdf5(const std::filesystem::path& path);

/// "2.10 MB of 3.00 MB": how much of the stored values has checksums, and was compared.
std::string SummedText(const staging::Hdf5Verification& verification);
/// A line for each dataset that was not checked, with what to do.
std::string UnreadText(const std::string& file, const staging::Hdf5Verification& verification);
Json VerificationDocument(const staging::Hdf5Verification& verification);

}  // namespace slipway::launcher
