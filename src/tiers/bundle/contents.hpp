#pragma once

#include "format/bundle_file.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace hearth::tiers {

// Visits the rows of a bundle in the order of their keys.
// `visit` gets the row's number, and returns whether to go on. `damaged`, if given, is called with the number of rows
// in each page that cannot be read.
using VisitRow = std::function<bool(std::size_t number, const format::BundleRow&)>;
using VisitDamage = std::function<void(std::size_t page, std::uint64_t rows)>;
void for_each_row(const format::BundleFile& file, const VisitRow& visit, const VisitDamage& damaged = {});

// What a listing shows of an entry. A damaged entry has only its key and its size.
EntryRow describe(const format::BundleFile& file, const format::BundleRow& row);

// The entry's bytes if they match the digest in the index; otherwise none, and `why`.
Bytes read_vouched(const format::BundleFile& file, const format::BundleRow& row, Miss& why);

// Reads every entry and checks it against the index and against itself.
VerifyReport verify_contents(const format::BundleFile& file, const Progress& progress);

}  // namespace hearth::tiers
