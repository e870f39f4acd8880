#pragma once

#include "format/bundle_file.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace hearth::tiers {

// What a bundle holds, one row after the other in the order of their keys.
// `visit` is given the row's number and answers whether to go on; `damaged`, where there is one, the rows of a page
// that cannot be had.
using VisitRow = std::function<bool(std::size_t number, const format::BundleRow&)>;
using VisitDamage = std::function<void(std::size_t page, std::uint64_t rows)>;
void for_each_row(const format::BundleFile& file, const VisitRow& visit, const VisitDamage& damaged = {});

// What a listing shows of it. One that is damaged has its key and its size.
EntryRow describe(const format::BundleFile& file, const format::BundleRow& row);

// The entry's bytes where they are those that the index vouches for, or none, and why.
Bytes read_vouched(const format::BundleFile& file, const format::BundleRow& row, Miss& why);

// Reads every entry and checks it against the index and against itself.
VerifyReport verify_contents(const format::BundleFile& file, const Progress& progress);

}  // namespace hearth::tiers
