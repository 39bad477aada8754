#include "staging/foreign/foreign_hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/json_fields.h"
#include "staging/foreign/hdf5_helper.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {
constexpr const char* kReinstall = "install Slipway again: its programs must be of one version";
}

template <class Read>
auto ForeignHdf5::Understand(Read&& read) {
  try {
    return read();
  } catch (const std::logic_error& error) {  // std::out_of_range
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}': the HDF5 helper answers {}", path_.string(), error.what()),
                kReinstall);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}': the HDF5 helper answers {}", path_.string(), error.what()),
                kReinstall);
  }
}

DocumentName ForeignHdf5::AnswerName() const {
  return {fmt::format("'{}': the answer of the HDF5 helper", path_.string())};
}

ForeignHdf5::ForeignHdf5(const fs::path& path, std::function<void()> on_wait)
    : path_(path), on_wait_(std::move(on_wait)), helper_(Hdf5Helper::Take()) {
  const auto answer = Ask({{"do", "open"}, {"path", path.string()}}, "listed its datasets");
  contents_ = ContentsFrom(answer.head, AnswerName());
}

ForeignHdf5::ForeignHdf5(ForeignHdf5&&) noexcept = default;
ForeignHdf5& ForeignHdf5::operator=(ForeignHdf5&&) noexcept = default;
ForeignHdf5::~ForeignHdf5() { Hdf5Helper::Leave(std::move(helper_)); }

HelperMessage ForeignHdf5::Ask(const Json& request, std::string_view what) {
  return Understand([&] { return helper_->Ask(request, path_, what, on_wait_); });
}

void ForeignHdf5::ReadRows(std::string_view dataset, std::uint64_t begin, std::uint64_t end, NumberType as,
                           std::span<std::byte> out) {
  const auto answer = Ask({{"do", "rows"},
                           {"dataset", dataset},
                           {"begin", begin},
                           {"end", end},
                           {"as", static_cast<int>(as)},
                           {"bytes", out.size()}},
                          fmt::format("read the dataset '{}'", dataset));
  Understand([&] {
    if (answer.bytes.size() != out.size()) throw std::out_of_range("with another number of bytes");
    std::ranges::copy(answer.bytes, out.begin());
  });
}

std::vector<std::string> ForeignHdf5::ReadBytes(std::string_view dataset, std::uint64_t begin, std::uint64_t end) {
  const auto answer = Ask({{"do", "bytes"}, {"dataset", dataset}, {"begin", begin}, {"end", end}},
                          fmt::format("read the dataset '{}'", dataset));
  return Understand([&] {
    auto rows = answer.head.at("rows").get<std::vector<std::string>>();
    if (rows.size() != end - begin) throw std::out_of_range("with another number of rows");
    return rows;
  });
}

Hdf5Verification ForeignHdf5::Verify() {
  const auto answer = Ask({{"do", "verify"}}, "read its values");
  return VerificationFrom(answer.head, AnswerName());
}

Hdf5StoredAs ForeignHdf5::StoredAs(std::string_view dataset) {
  const auto answer = Ask({{"do", "layout"}, {"dataset", dataset}}, "looked up its chunks");
  return StoredAsFrom(answer.head, AnswerName());
}

}  // namespace slipway::staging
