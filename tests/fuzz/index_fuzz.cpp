// The input is the index file itself, and then once more a short form of one: the 256 bytes of its header that are
// used, and the records of its first buckets. In the short form sums are made right, so that the bounds are tried.

#include "fuzz/fuzz.hpp"
#include "hearth/policy.hpp"
#include "support/forged_entry.hpp"
#include "support/single_file.hpp"
#include "tiers/disk/index.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace hearth;
using tiers::Index;
using tiers::IndexRecord;

constexpr std::size_t k_header_used = 256;
constexpr std::size_t k_bytes_at = 48;  // in a record; 0 there: it is free

// As tiers/disk/index.cpp has it.
std::uint32_t short_sum(std::string_view bytes)
{
    std::uint64_t hash = 0x9E3779B97F4A7C15U;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        const std::uint64_t word = bytes.size() - at >= 8 ? test::number_at<std::uint64_t>(bytes, at)
                                                          : test::number_at<std::uint32_t>(bytes, at);
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDU;
        hash ^= hash >> 32U;
    }
    const auto folded = static_cast<std::uint32_t>(hash);
    return folded == 0 ? 1 : folded;
}

void seal(std::string& bytes, std::size_t at, std::size_t size)
{
    const std::size_t covered = size - sizeof(std::uint32_t);
    test::set_number(bytes, at + covered, short_sum(std::string_view(bytes).substr(at, covered)));
}

std::string file_of_short_form(std::string_view input)
{
    std::string file(input.substr(0, k_header_used));
    file.resize(Index::k_header_bytes, '\0');
    seal(file, 0, k_header_used);
    if (input.size() > k_header_used)
        file += input.substr(k_header_used);
    const std::size_t buckets = (file.size() - Index::k_header_bytes) / Index::k_bucket_bytes + 1;
    file.resize(Index::k_header_bytes + buckets * Index::k_bucket_bytes, '\0');
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
        for (std::size_t slot = 0; slot < Index::k_bucket_records; ++slot) {
            const std::size_t at =
                Index::k_header_bytes + bucket * Index::k_bucket_bytes + slot * Index::k_record_bytes;
            if (test::number_at<std::uint64_t>(file, at + k_bytes_at) != 0)
                seal(file, at, Index::k_record_bytes);
        }
    return file;
}

void check_error(int error)
{
    fuzz::require(error == 0 || error == -EBADMSG || error == -ENOSPC || error == -EIO,
                  "an index is whole, or damaged, or full, or an entry's file cannot be looked at");
}

// What the entries' files say: some are there, some are not, and of some nothing can be said.
std::int64_t stat_entry(const Key& key)
{
    switch (key.digest[31] % 4) {
    case 0:
        return -ENOENT;
    case 1:
        return -EIO;
    default:
        return 1 + key.digest[30];
    }
}

void check_change(Index& index, const IndexRecord& record)
{
    std::optional<IndexRecord> found;
    const int added = index.add(record, [] { return 0; });
    check_error(added);
    if (added != 0)
        return;
    check_error(index.find(record.key, found));
    fuzz::require(found == record, "what was added is found");
    check_error(index.update({record.key}, [](IndexRecord& edited) { ++edited.uses; }));
    check_error(index.find(record.key, found));
    fuzz::require(found && found->uses == record.uses + 1, "what was edited is found edited");
    check_error(index.remove(record.key, [] { return 0; }));
    check_error(index.find(record.key, found));
}

// Whatever stamps, costs and clock a file holds, a policy that is given them names everyone once.
void check_ranking(const std::vector<IndexRecord>& records, double clock)
{
    for (const PolicyFactory& make_policy : {gdsf(), lru()}) {
        const std::unique_ptr<Policy> policy = make_policy();
        policy->set_clock(clock);
        std::deque<Resident> residents;
        for (const IndexRecord& record : records) {
            Resident& resident = residents.emplace_back(record.key, record.bytes, record.cost);
            resident.set_uses(record.uses);
            resident.set_last_used(record.tick);
            resident.aging = record.aging;
            policy->inserted(resident);
        }
        std::size_t named = 0;
        while (const Resident* const victim = policy->victim()) {
            policy->removed(*victim);
            ++named;
        }
        fuzz::require(named == residents.size(), "every record can be evicted");
    }
}

void check(const std::string& bytes)
{
    test::SingleFile file(bytes);
    const tiers::BootId boot{};
    Index index(file, "index", boot);
    (void)Index::peek_totals(file, "index");
    const int opened = index.open(stat_entry);
    check_error(opened);
    if (opened != 0) {
        // What a rebuild from no entries gives must work, whatever lay there before.
        fuzz::require(index.create({}) == 0 && index.totals() == tiers::IndexTotals{} && !index.wants_reconcile(),
                      "a damaged index can be replaced");
        return;
    }

    std::vector<IndexRecord> records;
    for (std::uint64_t bucket = 0; bucket < std::min<std::uint64_t>(index.buckets(), 4); ++bucket) {
        check_error(index.read_bucket(bucket, records));
        for (const IndexRecord& record : records) {
            fuzz::require(record.bytes != 0 && index.bucket_of(record.key) == bucket, "a record is in its place");
            std::optional<IndexRecord> found;
            fuzz::require(index.find(record.key, found) == 0 && found && found->key == record.key,
                          "a record that is listed is found");
        }
        check_ranking(records, index.clock());
    }

    IndexRecord record;
    record.key = records.empty() ? Key::of("fuzz") : records.back().key;
    record.bytes = 1234;
    check_change(index, record);
    Index reopened(file, "index", boot);
    check_error(reopened.open(stat_entry));
}

void try_input(std::string_view text)
{
    check(std::string(text));
    check(file_of_short_form(text));
}

const fuzz::Added k_added{{"index", 30'000, try_input}};

}  // namespace
