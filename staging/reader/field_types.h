/// What a field of stored numbers is to the batch reader.
#pragma once

#include "staging/formats/hdf5.h"
#include "staging/reader/elements.h"
#include "staging/reader/field_source.h"

namespace slipway::staging {

ElementType ElementOf(NumberType type);

/// Of a field whose records hold numbers of `stored` with `shape`. The wanted shape may say it again, or with
/// dimensions run together or divided. Errors: Error(kUsage): another shape or type is wanted, or numbers are to be
/// decoded.
FieldType TypeOfNumbers(const WantedField& wanted, NumberType stored, Shape shape);

}  // namespace slipway::staging
