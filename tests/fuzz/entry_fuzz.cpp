#include "format/entry.hpp"
#include "fuzz/fuzz.hpp"
#include "support/forged_entry.hpp"

#include <optional>
#include <string>

namespace {

using namespace hearth;
using Outcome = format::DecodedHead::Outcome;

void check(const std::string& bytes)
{
    const Bytes entry = Bytes::copy_of(bytes);
    const format::DecodedHead head = format::decode_head(entry);
    const std::optional<Key> claimed = format::claimed_key(entry);
    const format::DecodedEntry decoded = format::decode_entry(entry, claimed.value_or(Key{}));

    // A cut can only turn an answer into the wish for more bytes.
    if (!bytes.empty()) {
        const std::size_t cut = static_cast<unsigned char>(bytes.back()) * bytes.size() / 256;
        const format::DecodedHead of_cut = format::decode_head(entry.view().first(cut));
        fuzz::require(of_cut.outcome == Outcome::need_more || of_cut.outcome == head.outcome,
                      "a head reads the same from fewer bytes, or asks for more");
        fuzz::require(of_cut.outcome != Outcome::need_more || of_cut.needed > cut, "more is asked for than was given");
    }
    if (!decoded.artifact) {
        fuzz::require(decoded.why == Miss::corrupt || decoded.why == Miss::other_version,
                      "a miss says which of the two");
        return;
    }
    const Artifact& artifact = *decoded.artifact;
    fuzz::require(head.outcome == Outcome::ok, "an entry that decodes has a head that does");
    fuzz::require(head.head.key == claimed && head.head.total == bytes.size() &&
                      head.head.raw_bytes == artifact.size() && head.head.metadata == artifact.metadata &&
                      head.head.status == artifact.status && head.head.cost == artifact.cost &&
                      head.head.created == artifact.created && head.head.expires == artifact.expires,
                  "head and entry say the same");
    Key other = *claimed;
    other.digest[5] ^= 1U;
    fuzz::require(!format::decode_entry(entry, other).artifact, "an entry answers for its own key only");
    const Result<Bytes> again = format::encode_entry(*claimed, artifact, {.compression = 0});
    fuzz::require(again.ok(), "what was decoded can be encoded");
    const format::DecodedEntry decoded_again = format::decode_entry(*again, *claimed);
    fuzz::require(decoded_again.artifact && *decoded_again.artifact == artifact, "and comes back the same");
}

void try_input(std::string_view input)
{
    std::string bytes(input);
    check(bytes);
    // Sums stop nearly every mutation at the door. With sums made right it is the bounds that are tried.
    test::reseal(bytes);
    check(bytes);
    if (bytes.size() >= test::k_table_at) {
        test::set_number<std::uint64_t>(bytes, test::k_total_at, bytes.size());
        test::reseal(bytes);
        check(bytes);
    }
}

const fuzz::Added k_added({"entry", 200'000, try_input});

}  // namespace
