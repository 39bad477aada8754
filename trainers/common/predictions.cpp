#include "trainers/common/predictions.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace trainers {
namespace {

namespace fs = std::filesystem;

void WriteWhole(const fs::path& path, const std::string& content) {
  const auto temporary = fs::path(path) += ".tmp";
  std::ofstream stream(temporary, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw std::runtime_error(fmt::format("cannot write '{}'", temporary.string()));
  fs::rename(temporary, path);
}

std::string ShapeText(std::size_t records, std::size_t columns) {
  return columns == 0 ? fmt::format("({},)", records) : fmt::format("({}, {})", records, columns);
}

/// numpy.lib.format, version 1: magic, version, length of the header, a Python dict that fills up 64 bytes.
template <class Number>
std::string NumpyText(const char* descr, const std::string& shape, std::span<const Number> values) {
  auto dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  dict.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + '\n' +
         std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::string TargetText(const TargetValues& targets, std::size_t records) {
  if (const auto* labels = std::get_if<std::span<const std::int64_t>>(&targets)) {
    return NumpyText("<i8", ShapeText(records, 0), *labels);
  }
  const auto values = std::get<std::span<const float>>(targets);
  return NumpyText("<f4", ShapeText(records, values.size() / records), values);
}

/// FNV-1a, 64 bits, over the bytes of each number, the lowest first.
std::string OrderOf(std::span<const std::uint64_t> records) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto record : records) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ (record >> shift & 0xff)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

void WriteWithOrder(const fs::path& folder, const std::string& name, const std::string& array,
                    std::span<const std::uint64_t> records) {
  const nlohmann::ordered_json document{
      {"schema", "slipway." + name + "/1"}, {"records", records.size()}, {"order", OrderOf(records)}};
  WriteWhole(folder / (name + ".npy"), array);
  WriteWhole(folder / (name + ".json"), document.dump() + "\n");
}

}  // namespace

void WritePredictions(const fs::path& folder, std::span<const std::uint64_t> records,
                      std::span<const float> predictions, const TargetValues& targets) {
  WriteWithOrder(folder, "targets", TargetText(targets, records.size()), records);
  const auto shape = ShapeText(records.size(), predictions.size() / records.size());
  WriteWithOrder(folder, "predictions", NumpyText("<f4", shape, predictions), records);
}

}  // namespace trainers
