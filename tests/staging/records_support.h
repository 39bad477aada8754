/// The records of a dataset as programs read them: all of one field, in order, through the batch reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::staging {

/// The values of `field`, record after record. `dataset`: as of BatchReader::Open. The test fails when the files hold
/// another kind of values: integers are uint8 or int64, floats have 32 or 64 bits.
std::vector<std::byte> BytesIn(const std::filesystem::path& dataset, const std::string& field);
std::vector<std::int64_t> IntsIn(const std::filesystem::path& dataset, const std::string& field);
std::vector<float> FloatsIn(const std::filesystem::path& dataset, const std::string& field);

/// TFRecord: the bytes value of `field` in each record, of any length.
std::vector<std::string> TextsIn(const std::filesystem::path& dataset, const std::string& field);

}  // namespace slipway::staging
