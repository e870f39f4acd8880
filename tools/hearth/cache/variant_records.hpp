#pragma once

#include "hearth/admin.hpp"
#include "hearth/variants.hpp"
#include "json/json.hpp"

#include <functional>
#include <vector>

namespace hearth::cli {

// What was measured of a kernel's variants, and the entry that holds it.
struct FoundRecord {
    Key key;
    WallTime created;
    cuda::VariantRecord record;
};

// All of them that are `wanted`, by kernel and then by shape.
std::vector<FoundRecord> variant_records(Cache& cache, const std::function<bool(const FoundRecord&)>& wanted);

// Of one program: for `show` and `why`.
std::vector<FoundRecord> variant_records_of(Cache& cache, const Key& entry);

Json as_json(const FoundRecord& found);
// "tile 64, 23.1 % faster", or "no variant better"
std::string result_of(const cuda::VariantRecord& record);
// A row for each variant.
void print_variants(const cuda::VariantRecord& record);
// A line for each record, for people who asked for the program.
void print_winners(const std::vector<FoundRecord>& records);

}  // namespace hearth::cli
