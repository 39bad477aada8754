#include "staging/formats/numpy_table.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/crc32c.h"
#include "core/error.h"

namespace slipway::staging {

namespace fs = std::filesystem;

void NpyColumns::Add(const fs::path& file, const std::string& name) {
  const auto& arrays = opened_.emplace_back(file).arrays();
  for (auto array : arrays) {
    if (!name.empty() && file.extension() != ".npz") array.name = name;
    AddArray(array, file);
  }
}

void NpyColumns::AddArray(const NpyArray& array, const fs::path& file) {
  if (array.shape.empty()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': '{}' is one number, not one for each record", file.string(), array.name),
                "save an array with one row for each record");
  }
  if (!arrays_.empty() && array.shape[0] != arrays_[0].shape[0]) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': '{}' has {} records, '{}' has {}", file.string(), array.name, array.shape[0],
                            arrays_[0].name, arrays_[0].shape[0]),
                "save arrays with the same number of rows");
  }
  if (std::ranges::find(fields_, array.name, &TableField::name) != fields_.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}': there are two arrays '{}'", file.string(), array.name),
                "rename one: the names of the files become the fields of the records");
  }
  fields_.push_back({array.name, array.type, {array.shape.begin() + 1, array.shape.end()}});
  RequireValues(fields_.back(), file);
  arrays_.push_back(array);
}

void NpyColumns::RequireRecords(const fs::path& file) const {
  if (record_count() > 0) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no records", file.string()),
              "name files that hold records");
}

std::span<const std::byte> NpyColumns::Rows(std::uint64_t begin, std::uint64_t end, std::size_t field) const {
  const auto size = arrays_[field].values.size() / record_count();
  return arrays_[field].values.subspan(begin * size, (end - begin) * size);
}

namespace {

constexpr std::string_view kZipStart = "PK\3\4";
/// Of the end of a zip file's directory, with the longest comment.
constexpr std::size_t kZipEndBytes = 22 + 0xffff;
/// A header that is longer is none of NumPy's: they take a few hundred bytes.
constexpr std::size_t kMostNumpyHeader = 64 << 10;

/// Copies bytes of a mapped file. For pages that the file no longer has the kernel gives an error here, where a plain
/// copy would end the process by SIGBUS. Where this call is forbidden, it is a plain copy.
void CopyFromMap(std::span<const std::byte> from, std::span<std::byte> to, const fs::path& path) {
  while (!to.empty()) {
    const iovec here{to.data(), to.size()};
    const iovec there{const_cast<std::byte*>(from.data()), from.size()};
    const auto count = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
    if (count < 0 && errno == EFAULT) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' has become shorter while it was read, or cannot be read", path.string()),
                  "stage the dataset, or leave its files alone while they are read");
    }
    if (count <= 0) {
      std::ranges::copy(from, to.begin());
      return;
    }
    from = from.subspan(static_cast<std::size_t>(count));
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

class NumpyTable final : public TableFile {
 public:
  explicit NumpyTable(const fs::path& path) : path_(path) {
    columns_.Add(path, kNpyField);
    if (columns_.fields().empty()) columns_.RequireRecords(path);
  }

  std::uint64_t record_count() const override { return columns_.record_count(); }
  const std::vector<TableField>& fields() const override { return columns_.fields(); }
  std::span<const std::byte> Value(std::uint64_t record, std::size_t field,
                                   std::vector<std::byte>& buffer) const override {
    const auto value = columns_.Value(record, field);
    if (!columns_.arrays()[field].mapped) return value;
    buffer.resize(value.size());
    CopyFromMap(value, buffer, path_);
    return buffer;
  }

 private:
  fs::path path_;
  NpyColumns columns_;
};

class NumpyCheck final : public StreamCheck {
 public:
  explicit NumpyCheck(fs::path name) : name_(std::move(name)) {}

  std::uint32_t Update(std::span<const std::byte> bytes) override {
    if (head_.size() < kMostNumpyHeader) {
      const auto wanted = std::min(kMostNumpyHeader - head_.size(), bytes.size());
      head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(wanted));
    }
    size_ += bytes.size();
    KeepTail(bytes);
    return Crc32c(bytes);
  }

  StreamSummary Finish() override {
    StreamSummary summary;
    const std::string_view head(reinterpret_cast<const char*>(head_.data()), head_.size());
    if (head.starts_with(kZipStart)) {
      RequireZipEnd();
      return summary;
    }
    const auto header = ParseNumpyHeader(head_, size_, name_.string());
    if (!header.shape.empty()) summary.records = header.shape[0];
    return summary;
  }

 private:
  void KeepTail(std::span<const std::byte> bytes) {
    bytes = bytes.last(std::min(bytes.size(), kZipEndBytes));
    const auto kept = std::min(tail_.size(), kZipEndBytes - bytes.size());
    tail_.erase(tail_.begin(), tail_.end() - static_cast<std::ptrdiff_t>(kept));
    tail_.insert(tail_.end(), bytes.begin(), bytes.end());
  }

  void RequireZipEnd() const {
    if (HasZipEnd(tail_)) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is a torn zip file: it has no directory at its end, byte {}", name_.string(), size_),
                "the file is damaged: copy it again from its source");
  }

  fs::path name_;
  std::vector<std::byte> head_;
  std::vector<std::byte> tail_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<TableFile> OpenNumpyTable(const fs::path& path) { return std::make_unique<NumpyTable>(path); }

std::unique_ptr<StreamCheck> CheckNumpy(fs::path name) { return std::make_unique<NumpyCheck>(std::move(name)); }

}  // namespace slipway::staging
