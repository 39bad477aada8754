#include "core/numpy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace slipway {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 32;  // NumPy's own limit
constexpr auto kSaveFields = "save each of its fields as an array of its own, e.g. numpy.savez(file, x=array['x'])";

[[noreturn]] void ThrowNpy(std::string_view name, std::string_view what,
                           std::string next = "save the array again with numpy.save") {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name, what), std::move(next));
}

/// Reads the literal that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictReader {
 public:
  DictReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  void Expect(char wanted) {
    if (!Take(wanted)) ThrowNpy(name_, fmt::format("has a NumPy header that is no dict: expected '{}'", wanted));
  }
  bool Take(char wanted) {
    if (!Starts(wanted)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool Starts(char wanted) {
    SkipSpaces();
    return !text_.empty() && text_[0] == wanted;
  }
  std::string_view Word() {
    Expect('\'');
    const auto end = text_.find('\'');
    if (end == std::string_view::npos) ThrowNpy(name_, "has a NumPy header that ends inside a word");
    const auto word = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return word;
  }
  bool Truth() {
    SkipSpaces();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    ThrowNpy(name_, "has a NumPy header with neither True nor False where one must stand");
  }
  std::uint64_t Number() {
    SkipSpaces();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) ThrowNpy(name_, "has a NumPy header with a shape that is no numbers");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    Take('L');  // as Python 2 wrote long numbers
    return number;
  }
  void ExpectEnd() {
    SkipSpaces();
    if (!text_.empty()) ThrowNpy(name_, "has a NumPy header with something behind its end");
  }

 private:
  void SkipSpaces() {
    const auto start = text_.find_first_not_of(" \n\t");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }

  std::string_view text_;
  std::string_view name_;
};

struct HeaderWords {
  std::string_view descr;
  bool fortran_order = false;
  std::optional<std::vector<std::uint64_t>> shape;
};

std::vector<std::uint64_t> ReadShape(DictReader& reader, std::string_view name) {
  std::vector<std::uint64_t> shape;
  reader.Expect('(');
  while (!reader.Take(')')) {
    if (shape.size() == kMostDimensions) ThrowNpy(name, "has too many dimensions");
    shape.push_back(reader.Number());
    if (!reader.Take(',')) {
      reader.Expect(')');
      break;
    }
  }
  return shape;
}

HeaderWords ReadWords(std::string_view text, std::string_view name) {
  DictReader reader(text, name);
  HeaderWords words;
  reader.Expect('{');
  while (!reader.Take('}')) {
    const auto key = reader.Word();
    reader.Expect(':');
    if (key == "descr") {
      if (reader.Starts('[')) ThrowNpy(name, "has a structured NumPy type, which is not read", kSaveFields);
      words.descr = reader.Word();
    } else if (key == "fortran_order") {
      words.fortran_order = reader.Truth();
    } else if (key == "shape") {
      words.shape = ReadShape(reader, name);
    } else {
      ThrowNpy(name, fmt::format("has a NumPy header with the unknown key '{}'", key.substr(0, 50)));
    }
    if (!reader.Take(',')) {
      reader.Expect('}');
      break;
    }
  }
  reader.ExpectEnd();
  return words;
}

/// Kind and size, as NumPy writes them behind the byte order.
bool IsNumber(std::string_view type) {
  static constexpr std::string_view kNumbers[] = {"b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"};
  return std::ranges::find(kNumbers, type) != std::end(kNumbers);
}

void SetType(NumpyHeader& header, std::string_view descr, std::string_view name) {
  const char order = descr.empty() ? ' ' : descr[0];
  if (descr.empty() || !IsNumber(descr.substr(1)) || std::string_view("<>|=").find(order) == std::string_view::npos) {
    ThrowNpy(name, fmt::format("has the NumPy type '{}', which is not read", descr.substr(0, 50)),
             "save it as bool, integers of 8 to 64 bits or floats of 32 or 64 bits, e.g. with array.astype('float32')");
  }
  header.kind = descr[1];
  header.size = static_cast<std::size_t>(descr[2] - '0');
  const bool little = std::endian::native == std::endian::little;
  header.swapped = header.size > 1 && (order == '<' || order == '>') && (order == '<') != little;
}

std::size_t LittleEndian(std::span<const std::byte> bytes) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) number |= std::to_integer<std::size_t>(bytes[i]) << (8 * i);
  return number;
}

/// Where the dict begins and how long it is.
std::string_view HeaderText(std::span<const std::byte> bytes, std::string_view name) {
  if (!AsText(bytes).starts_with(kMagic) || bytes.size() < 10) ThrowNpy(name, "is no NumPy array");
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3) ThrowNpy(name, fmt::format("has the unknown NumPy format {}", version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) ThrowNpy(name, "ends inside its NumPy header");
  const std::size_t length = LittleEndian(bytes.subspan(8, version == 1 ? 2 : 4));
  if (length > bytes.size() - start) ThrowNpy(name, "ends inside its NumPy header");
  return AsText(bytes).substr(start, length);
}

}  // namespace

NumpyHeader ParseNumpyHeader(std::span<const std::byte> bytes, std::string_view name) {
  return ParseNumpyHeader(bytes, bytes.size(), name);
}

NumpyHeader ParseNumpyHeader(std::span<const std::byte> bytes, std::uint64_t file_bytes, std::string_view name) {
  const auto text = HeaderText(bytes, name);
  const auto words = ReadWords(text, name);
  NumpyHeader header;
  SetType(header, words.descr, name);
  if (!words.shape) ThrowNpy(name, "has a NumPy header without a shape");
  header.shape = *words.shape;
  if (words.fortran_order && header.shape.size() > 1) {
    ThrowNpy(name, "is in Fortran order", "save it with numpy.ascontiguousarray(array)");
  }
  header.values_at = static_cast<std::size_t>(text.data() + text.size() - AsText(bytes).data());
  header.value_bytes = header.size;
  for (const auto extent : header.shape) {
    if (__builtin_mul_overflow(header.value_bytes, extent, &header.value_bytes)) {
      ThrowNpy(name, "has a shape that is too large to count");
    }
  }
  if (header.value_bytes != file_bytes - header.values_at) {
    ThrowNpy(name, fmt::format("has {} bytes of values, its NumPy header announces {}", file_bytes - header.values_at,
                               header.value_bytes));
  }
  return header;
}

std::string RenderNumpyHeader(char kind, std::size_t size, std::span<const std::uint64_t> shape) {
  constexpr std::size_t kAlignment = 64;  // as NumPy does it, so that mapped values are aligned
  constexpr std::size_t kBeforeText = kMagic.size() + 4;
  static_assert(std::endian::native == std::endian::little);
  const auto comma = shape.size() == 1 ? "," : "";
  auto text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size == 1 ? '|' : '<',
                          kind, size, fmt::join(shape, ", "), comma);
  text.resize(text.size() + kAlignment - (kBeforeText + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  const auto length = text.size();
  const char version_and_length[] = {1, 0, static_cast<char>(length), static_cast<char>(length >> 8)};
  return std::string(kMagic) + std::string(version_and_length, sizeof version_and_length) + text;
}

}  // namespace slipway
