#include "launcher/cli/commands/data_hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/units.h"
#include "launcher/cli/commands/data_fields.h"
#include "staging/foreign/foreign_hdf5.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// "chunked 2x28x28, shuffle, deflate"
std::string StoredText(const staging::Hdf5StoredAs& stored) {
  auto text = std::string(WordOf(stored.storage));
  if (!stored.chunk_shape.empty()) text += fmt::format(" {}", fmt::join(stored.chunk_shape, "x"));
  for (const auto& filter : stored.filters) text += ", " + filter;
  return text;
}

Json StoredDocument(const staging::Hdf5Dataset& dataset, const staging::Hdf5StoredAs& stored) {
  return {{"name", dataset.name},    {"type", WordOf(dataset.type)},
          {"shape", dataset.shape},  {"storage", WordOf(stored.storage)},
          {"bytes", stored.bytes},   {"chunk_shape", stored.chunk_shape},
          {"chunks", stored.chunks}, {"filters", stored.filters}};
}

/// "lat: float64 (7)"
std::string ShapeText(const staging::Hdf5Dataset& dataset) {
  return fmt::format("{}: {} ({})", dataset.name, WordOf(dataset.type), fmt::join(dataset.shape, "x"));
}

std::string OtherText(const staging::Hdf5Other& other) {
  if (other.is_bytes) return fmt::format("{}: strings ({})", other.name, other.shape[0]);
  return fmt::format("{}: {}", other.name, other.what);
}

void AddWord(std::string& text, std::string_view separator, std::string_view word) {
  if (!text.empty()) text += separator;
  text += word;
}

}  // namespace

Hdf5Info InfoOfHdf5(const fs::path& path) {
  staging::ForeignHdf5 file(path);
  Hdf5Info info{CommonRows(file.Datasets()), {}, {}, Json::array(), Json::array(), Json::array()};
  for (const auto& dataset : file.Datasets()) {
    const auto stored = file.StoredAs(dataset.name);
    const auto field = FieldInfoOf(dataset);
    AddWord(info.stored, "; ", fmt::format("{}: {} {}", dataset.name, WordOf(dataset.type), StoredText(stored)));
    AddWord(info.fields, ", ", info.records ? FieldInfoText(field) : ShapeText(dataset));
    info.layout.push_back(StoredDocument(dataset, stored));
    info.field_list.push_back(FieldInfoDocument(field));
  }
  for (const auto& other : file.Others()) {
    AddWord(info.fields, ", ", OtherText(other));
    info.others.push_back({{"name", other.name}, {"what", OtherText(other)}, {"shape", other.shape}});
  }
  return info;
}

std::string SummedText(const staging::Hdf5Verification& verification) {
  return fmt::format("{} of {}", FormatBytes(Bytes{verification.summed_bytes}),
                     FormatBytes(Bytes{verification.summed_bytes + verification.unsummed_bytes}));
}

std::string UnreadText(const std::string& file, const staging::Hdf5Verification& verification) {
  std::string text;
  for (const auto& unread : verification.unread) {
    text += fmt::format("not looked at: '{}': the dataset '{}' {}\n", file, unread.name, unread.why);
    if (!unread.next_step.empty()) text += fmt::format("  next: {}\n", unread.next_step);
  }
  return text;
}

Json VerificationDocument(const staging::Hdf5Verification& verification) {
  Json unread = Json::array();
  for (const auto& dataset : verification.unread) unread.push_back({{"name", dataset.name}, {"why", dataset.why}});
  return {{"summed_bytes", verification.summed_bytes},
          {"unsummed_bytes", verification.unsummed_bytes},
          {"unread", std::move(unread)}};
}

}  // namespace slipway::launcher
