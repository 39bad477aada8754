// Members lie in `rows` x `columns`, a row being consecutive members. Rows reduce-scatter, columns allreduce what each
// column holds, rows allgather: two short rings in place of one long one.

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/ring_parts.h"
#include "runtime/selection/torus_sides.h"

namespace slipway::runtime {

std::vector<Slice> TorusSlices(std::int64_t count, int members) {
  const auto [rows, columns] = SidesOf(members);
  std::vector<Slice> slices;
  for (const auto& held : SlicesOf(count, columns)) {
    for (auto slice : SlicesOf(held.count, rows)) {
      slice.first += held.first;
      slices.push_back(slice);
    }
  }
  return slices;
}

void AllreduceByTorus(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members) {
  const auto [rows, columns] = SidesOf(members.size());
  const int row_of = members.rank() / columns;
  const int column_of = members.rank() % columns;
  Ring row{{}, column_of};
  Ring column{{}, row_of};
  for (int i = 0; i < columns; ++i) row.members.push_back(row_of * columns + i);
  for (int i = 0; i < rows; ++i) column.members.push_back(i * columns + column_of);

  const auto element = SizeOf(reduction.dtype);
  const auto at = [&](const Slice& slice) { return static_cast<char*>(data) + BytesOf(slice.first, element); };
  const auto across = SlicesOf(count, columns);
  RingReduceScatter(static_cast<char*>(data), across, reduction, row, members);
  const auto& held = across[static_cast<std::size_t>(column_of)];
  auto along = SlicesOf(held.count, rows);
  RingReduceScatter(at(held), along, reduction, column, members);
  auto own = along[static_cast<std::size_t>(row_of)];
  own.first += held.first;
  Finish(reduction, at(own), own.count, members.size());
  RingAllgather(at(held), along, element, column, members);
  RingAllgather(static_cast<char*>(data), across, element, row, members);
}

}  // namespace slipway::runtime
