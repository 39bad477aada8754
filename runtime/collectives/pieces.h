/// Data that lies in several places but is one message: the tensors of a bucket.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slipway::runtime {

/// How elements are dealt out: consecutive slices, as equal as can be.
struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
};

inline std::size_t BytesOf(std::int64_t count, std::size_t element) {
  return static_cast<std::size_t>(count) * element;
}

/// Slice `index` of `parts`: the first ones are one element longer where the division leaves a rest.
inline Slice SliceOf(std::int64_t count, int parts, int index) {
  const auto base = count / parts;
  const auto rest = count % parts;
  return {base * index + (index < rest ? index : rest), base + (index < rest ? 1 : 0)};
}

/// Slices that begin at multiples of two cache lines, so that ranks do not write to the same one.
Slice AlignedSlice(std::int64_t count, int parts, int index, std::size_t element);

inline std::vector<Slice> SlicesOf(std::int64_t count, int parts) {
  std::vector<Slice> slices;
  for (int i = 0; i < parts; ++i) slices.push_back(SliceOf(count, parts, i));
  return slices;
}

struct Piece {
  char* data = nullptr;
  std::int64_t count = 0;  ///< elements
};
using Pieces = std::span<const Piece>;

inline std::int64_t CountOf(Pieces pieces) {
  std::int64_t count = 0;
  for (const auto& piece : pieces) count += piece.count;
  return count;
}

/// A consecutive part of a message that lies in one piece.
struct Part {
  std::size_t piece = 0;    ///< index
  std::int64_t offset = 0;  ///< elements from the start of that piece
  std::int64_t done = 0;    ///< elements of the slice before this part
  std::int64_t count = 0;
};

/// Calls `action(Part)` for the parts of `slice`, in order.
template <class Action>
void ForEachPart(Pieces pieces, Slice slice, Action action) {
  std::int64_t start = 0;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < pieces.size() && done < slice.count; ++i) {
    const auto first = std::max(slice.first, start);
    const auto last = std::min(slice.end(), start + pieces[i].count);
    if (first < last) {
      action(Part{i, first - start, done, last - first});
      done += last - first;
    }
    start += pieces[i].count;
  }
}

/// How a message is dealt into parts that go one after the other. Each part has its share of every slice: so what is
/// cut into as many slices again finds each element in the slice that it has in the whole message.
class MessageParts {
 public:
  /// `slices`: of a whole message, each 0 or 1 elements longer than the shortest. About `most` elements in each part.
  MessageParts(std::vector<Slice> slices, std::int64_t most);

  std::int64_t size() const { return size_; }
  /// Slices of the whole message, neighbours joined.
  std::vector<Slice> Of(std::int64_t part) const;
  std::int64_t CountOf(std::int64_t part) const;
  /// Elements of the longest part.
  std::int64_t longest() const { return longest_; }

 private:
  std::vector<Slice> slices_;
  std::int64_t share_ = 0;  ///< elements of each slice in each part but the last, which takes the rest
  std::int64_t size_ = 1;
  std::int64_t longest_ = 0;
};

/// Copies `slice` of the message to consecutive memory, and back.
void Gather(Pieces pieces, Slice slice, std::size_t element, char* to);
void Scatter(Pieces pieces, Slice slice, std::size_t element, const char* from);

}  // namespace slipway::runtime
