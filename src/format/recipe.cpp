#include "format/recipe.hpp"

#include "base/error.hpp"
#include "base/wire.hpp"
#include "format/compression.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

namespace hearth::format {

namespace {

constexpr std::size_t k_checksum_size = 16;
constexpr std::size_t k_checksum_at = 8;
constexpr std::size_t k_version_at = k_checksum_at + k_checksum_size;
// How many bytes may be summed in vain for every byte of a file. Damage costs a record or two of that; a file that is
// built to keep us busy is not read to its end.
constexpr std::uint64_t k_patience = 16;
constexpr std::uint64_t k_unpacked_anyway = 1_GiB;

constexpr std::uint8_t k_content = 'C';
constexpr std::uint8_t k_recipe = 'R';
constexpr std::uint8_t k_command = 'P';
constexpr std::uint8_t k_result = 'E';
constexpr std::uint8_t k_use = 'U';

constexpr std::uint16_t k_first_version = 1;
constexpr std::uint16_t k_version_of_commands = 2;
constexpr std::uint16_t k_version_of_results = 3;

constexpr std::uint8_t k_program_path = 1;
constexpr std::uint8_t k_all_paths = 2;
constexpr std::uint8_t k_own_path = 1;
constexpr std::uint8_t k_plain = 0;
constexpr std::uint8_t k_zstd = 1;

// The smallest encodings, which bound the counts before anything is allocated.
constexpr std::size_t k_least_text = 4;
constexpr std::size_t k_least_header = 4 + 32;
constexpr std::size_t k_least_file = 4 + 4 + 32 + 1;

using Sum = std::array<char, k_checksum_size>;

Sum checksum_of(std::string_view summed)
{
    const base::Sha256 digest = base::sha256(as_bytes(summed));
    Sum sum{};
    std::memcpy(sum.data(), digest.data(), sum.size());
    return sum;
}

constexpr std::array k_kinds{std::pair{RecipeKind::nvrtc, k_recipe}, std::pair{RecipeKind::command, k_command},
                             std::pair{RecipeKind::result, k_result}};

// None: no recipe is of that kind.
std::optional<RecipeKind> kind_of(std::uint8_t byte)
{
    for (const auto& [kind, its_byte] : k_kinds)
        if (its_byte == byte)
            return kind;
    return std::nullopt;
}

std::string record(std::uint8_t kind, std::string_view payload)
{
    if (payload.size() > k_max_recipe_payload)
        return {};
    base::WireWriter out;
    out.out().reserve(k_recipe_head_size + payload.size());
    out.raw(k_recipe_magic);
    out.out().resize(k_version_at);
    out.number(kind == k_result ? k_version_of_results : kind == k_command ? k_version_of_commands : k_first_version);
    out.number(kind);
    out.number(std::uint8_t{0});
    out.number(static_cast<std::uint32_t>(payload.size()));
    out.raw(payload);
    const Sum sum = checksum_of(std::string_view(out.out()).substr(k_version_at));
    out.out().replace(k_checksum_at, sum.size(), sum.data(), sum.size());
    return std::move(out.out());
}

void put_text(base::WireWriter& out, std::string_view text)
{
    out.prefixed<std::uint32_t>(text);
}

void put_list(base::WireWriter& out, const std::vector<std::string>& items)
{
    out.number(static_cast<std::uint32_t>(items.size()));
    for (const std::string& item : items)
        put_text(out, item);
}

void put_digest(base::WireWriter& out, const std::array<std::uint8_t, 32>& digest)
{
    out.raw(std::as_bytes(std::span(digest)));
}

std::string get_text(base::WireReader& in)
{
    return std::string(in.prefixed<std::uint32_t>());
}

void get_digest(base::WireReader& in, std::array<std::uint8_t, 32>& digest)
{
    if (const ByteView bytes = in.raw(digest.size()); bytes.size() == digest.size())
        std::memcpy(digest.data(), bytes.data(), bytes.size());
}

// How many things follow, each of at least `least` bytes; none when there cannot be so many.
std::optional<std::uint32_t> get_count(base::WireReader& in, std::size_t least)
{
    const auto count = in.number<std::uint32_t>();
    if (in.failed() || count > in.rest() / least)
        return std::nullopt;
    return count;
}

bool get_list(base::WireReader& in, std::vector<std::string>& items)
{
    const std::optional<std::uint32_t> count = get_count(in, k_least_text);
    if (!count)
        return false;
    // Nothing is reserved: an empty text takes four bytes there and thirty-two here.
    for (std::uint32_t i = 0; i < *count && !in.failed(); ++i)
        items.push_back(get_text(in));
    return true;
}

std::string recipe_payload(const Recipe& recipe)
{
    base::WireWriter out;
    put_digest(out, recipe.key.digest);
    out.number(static_cast<std::uint8_t>((recipe.program_path_matters ? k_program_path : 0) |
                                         (recipe.all_paths_matter ? k_all_paths : 0)));
    out.number(recipe.status);
    out.number(static_cast<std::uint64_t>(recipe.cost.count()));
    put_digest(out, recipe.source);
    put_text(out, recipe.name);
    put_list(out, recipe.options);
    put_list(out, recipe.names);
    out.number(static_cast<std::uint32_t>(recipe.given.size()));
    for (const RecipeHeader& header : recipe.given) {
        put_text(out, header.name);
        put_digest(out, header.digest);
    }
    out.number(static_cast<std::uint32_t>(recipe.files.size()));
    for (const RecipeFile& file : recipe.files) {
        put_text(out, file.path);
        put_text(out, file.label);
        put_digest(out, file.digest);
        out.number(static_cast<std::uint8_t>(file.path_matters ? k_own_path : 0));
    }
    for (const std::string* text : {&recipe.target, &recipe.build_id, &recipe.builtins, &recipe.compiler,
                                    &recipe.environment, &recipe.working_directory, &recipe.why_past_the_cache})
        put_text(out, *text);
    if (recipe.kind == RecipeKind::command)
        put_digest(out, recipe.conditions);
    return std::move(out.out());
}

bool get_headers(base::WireReader& in, Recipe& recipe)
{
    const std::optional<std::uint32_t> given = get_count(in, k_least_header);
    if (!given)
        return false;
    for (std::uint32_t i = 0; i < *given && !in.failed(); ++i) {
        RecipeHeader& header = recipe.given.emplace_back();
        header.name = get_text(in);
        get_digest(in, header.digest);
    }
    const std::optional<std::uint32_t> files = get_count(in, k_least_file);
    if (!files)
        return false;
    for (std::uint32_t i = 0; i < *files && !in.failed(); ++i) {
        RecipeFile& file = recipe.files.emplace_back();
        file.path = get_text(in);
        file.label = get_text(in);
        get_digest(in, file.digest);
        const auto flags = in.number<std::uint8_t>();
        if ((flags & ~k_own_path) != 0)
            return false;
        file.path_matters = (flags & k_own_path) != 0;
    }
    return true;
}

std::optional<Recipe> decode_recipe(ByteView payload, RecipeKind kind)
{
    base::WireReader in(payload);
    Recipe recipe;
    recipe.kind = kind;
    get_digest(in, recipe.key.digest);
    const auto flags = in.number<std::uint8_t>();
    if ((flags & ~(k_program_path | k_all_paths)) != 0)
        return std::nullopt;
    recipe.program_path_matters = (flags & k_program_path) != 0;
    recipe.all_paths_matter = (flags & k_all_paths) != 0;
    recipe.status = in.number<std::int32_t>();
    const auto cost = in.number<std::uint64_t>();
    if (cost > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    recipe.cost = std::chrono::nanoseconds(static_cast<std::int64_t>(cost));
    get_digest(in, recipe.source);
    recipe.name = get_text(in);
    if (!get_list(in, recipe.options) || !get_list(in, recipe.names) || !get_headers(in, recipe))
        return std::nullopt;
    for (std::string* text : {&recipe.target, &recipe.build_id, &recipe.builtins, &recipe.compiler, &recipe.environment,
                              &recipe.working_directory, &recipe.why_past_the_cache})
        *text = get_text(in);
    if (kind == RecipeKind::command)
        get_digest(in, recipe.conditions);
    if (in.failed() || !in.at_end())
        return std::nullopt;
    return recipe;
}

std::optional<RecipeUse> decode_use(ByteView payload)
{
    base::WireReader in(payload);
    RecipeUse use;
    get_digest(in, use.key.digest);
    use.count = in.number<std::uint64_t>();
    const auto at = in.number<std::uint64_t>();
    use.pid = in.number<std::uint32_t>();
    use.began = std::chrono::nanoseconds(in.number<std::int64_t>());
    if (in.failed() || !in.at_end() || at > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    use.at = std::chrono::nanoseconds(static_cast<std::int64_t>(at));
    return use;
}

bool take_content(ByteView payload, DecodedRecipes& into, std::uint64_t& patience)
{
    base::WireReader in(payload);
    base::Sha256 digest{};
    get_digest(in, digest);
    const auto form = in.number<std::uint8_t>();
    StoredContent content;
    content.raw_size = in.number<std::uint64_t>();
    content.compressed = form == k_zstd;
    if (in.failed() || form > k_zstd || content.raw_size > k_max_content ||
        (form == k_plain && content.raw_size != in.rest()))
        return false;
    content.bytes = in.raw(in.rest());
    add_content(into.contents, digest, content, patience);
    return true;
}

bool take(std::uint8_t kind, ByteView payload, DecodedRecipes& into, std::uint64_t& patience)
{
    if (kind == k_content)
        return take_content(payload, into, patience);
    if (const std::optional<RecipeKind> its_kind = kind_of(kind)) {
        std::optional<Recipe> recipe = decode_recipe(payload, *its_kind);
        if (!recipe)
            return false;
        into.recipes.push_back(*std::move(recipe));
        return true;
    }
    const std::optional<RecipeUse> use = kind == k_use ? decode_use(payload) : std::nullopt;
    if (use)
        into.uses.push_back(*use);
    return use.has_value();
}

// A record whose sum is right.
struct Framed {
    std::uint16_t version = 0;
    std::uint8_t kind = 0;
    ByteView payload;
};

// The record at the beginning of `text`, which begins with a magic; `in_vain` grows by what was summed for nothing.
std::optional<Framed> framed(std::string_view text, std::uint64_t& in_vain)
{
    if (text.size() < k_recipe_head_size)
        return std::nullopt;
    base::WireReader in(as_bytes(text.substr(k_version_at)));
    Framed found;
    found.version = in.number<std::uint16_t>();
    found.kind = in.number<std::uint8_t>();
    const auto zero = in.number<std::uint8_t>();
    const auto size = in.number<std::uint32_t>();
    if (zero != 0 || size > k_max_recipe_payload || size > text.size() - k_recipe_head_size)
        return std::nullopt;
    const std::string_view summed = text.substr(k_version_at, k_recipe_head_size - k_version_at + size);
    const Sum sum = checksum_of(summed);
    if (std::memcmp(sum.data(), text.data() + k_checksum_at, sum.size()) != 0) {
        in_vain += summed.size();
        return std::nullopt;
    }
    found.payload = as_bytes(text.substr(k_recipe_head_size, size));
    return found;
}

}  // namespace

std::string encode_content(const base::Sha256& digest, ByteView raw, int compression)
{
    const std::optional<Bytes> packed = raw.size() > k_max_content ? std::nullopt : compress(raw, compression);
    return encode_content(digest, StoredContent{packed ? packed->view() : raw, raw.size(), packed.has_value()});
}

std::string encode_content(const base::Sha256& digest, const StoredContent& content)
{
    if (content.raw_size > k_max_content)
        return {};
    base::WireWriter out;
    put_digest(out, digest);
    out.number(content.compressed ? k_zstd : k_plain);
    out.number(content.raw_size);
    out.raw(content.bytes);
    return record(k_content, out.out());
}

std::string encode_recipe(const Recipe& recipe)
{
    return record(k_kinds.at(static_cast<std::size_t>(recipe.kind)).second, recipe_payload(recipe));
}

std::string encode_use(const RecipeUse& use)
{
    base::WireWriter out;
    put_digest(out, use.key.digest);
    out.number(use.count);
    out.number(static_cast<std::uint64_t>(use.at.count()));
    out.number(use.pid);
    out.number(static_cast<std::int64_t>(use.began.count()));
    return record(k_use, out.out());
}

std::optional<RecordName> name_of_record(std::string_view begin)
{
    if (begin.size() < k_recipe_head_size || !begin.starts_with(k_recipe_magic))
        return std::nullopt;
    base::WireReader in(as_bytes(begin.substr(k_version_at)));
    const auto version = in.number<std::uint16_t>();
    const auto kind = in.number<std::uint8_t>();
    static_cast<void>(in.number<std::uint8_t>());
    RecordName name;
    name.size = k_recipe_head_size + std::uint64_t{in.number<std::uint32_t>()};
    get_digest(in, name.digest);
    if (in.failed() || version == 0 || version > k_recipe_version)
        return std::nullopt;
    name.what = kind == k_content ? RecordName::What::content
                : kind_of(kind)   ? RecordName::What::recipe
                                  : RecordName::What::other;
    return name;
}

Key key_of_past_the_cache(Recipe recipe)
{
    recipe.key = Key{};
    return Key{base::sha256(as_bytes(recipe_payload(recipe)))};
}

std::optional<Bytes> unpack(const StoredContent& content, const base::Sha256& digest)
{
    std::optional<Bytes> raw =
        content.compressed ? decompress(content.bytes, content.raw_size) : Bytes::copy_of(content.bytes);
    if (!raw || base::sha256(*raw) != digest)
        return std::nullopt;
    return raw;
}

std::uint64_t patience_with(std::uint64_t bytes)
{
    return k_unpacked_anyway + k_patience * bytes;
}

void add_content(StoredContents& all, const base::Sha256& digest, const StoredContent& content, std::uint64_t& patience)
{
    const auto [place, first] = all.try_emplace(digest, content);
    StoredContent& known = place->second;
    const bool same = known.raw_size == content.raw_size && known.compressed == content.compressed &&
                      as_text(known.bytes) == as_text(content.bytes);
    if (first || same || known.proven || known.raw_size > patience)
        return;
    patience -= known.raw_size;
    known.proven = unpack(known, digest).has_value();
    if (!known.proven)
        known = content;
}

Result<DecodedRecipes> decode_recipes(ByteView bytes, const std::string& name)
{
    const std::string_view all = as_text(bytes);
    DecodedRecipes decoded;
    std::size_t whole_to = 0;  // up to here everything was whole, or has been counted
    std::uint64_t in_vain = 0;
    std::uint64_t patience = patience_with(all.size());
    for (std::size_t at = all.find(k_recipe_magic); at != std::string_view::npos; at = all.find(k_recipe_magic, at)) {
        const std::optional<Framed> found = framed(all.substr(at), in_vain);
        if (in_vain / k_patience > all.size())
            break;
        if (found && found->version > k_recipe_version)
            return error(Code::other_version,
                         "{} has recipes of version {}; this Hearth reads up to version {}. Use a Hearth "
                         "as new as the one that recorded it.",
                         name, found->version, k_recipe_version);
        if (!found) {
            ++at;
            continue;
        }
        const std::size_t end = at + k_recipe_head_size + found->payload.size();
        if (found->version != 0 && take(found->kind, found->payload, decoded, patience)) {
            if (at > whole_to) {
                ++decoded.damaged_places;
                decoded.damaged_bytes += at - whole_to;
            }
            ++decoded.records;
            whole_to = end;
        }
        // A record that makes no sense is skipped too: it is whole, and what looks like records inside it are none.
        at = end;
    }
    if (whole_to < all.size()) {
        ++decoded.damaged_places;
        decoded.damaged_bytes += all.size() - whole_to;
    }
    if (decoded.records == 0 && !all.empty())
        return error(Code::corrupt,
                     "{} is no recipe file, or nothing of its {} bytes is whole. Record one with "
                     "HEARTH_RECORD={} in the environment of a program.",
                     name, all.size(), name);
    return decoded;
}

}  // namespace hearth::format
