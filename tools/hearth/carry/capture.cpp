#include "carry/capture.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "hearth/units.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <unordered_set>

namespace hearth::cli::carry {

namespace {

constexpr std::uint32_t k_version = 1;
constexpr std::size_t k_longest_name = 255;
constexpr std::uint16_t k_permissions = 0777;

// The least that each takes, so that a count that cannot be true is refused before anything is allocated for it.
constexpr std::size_t k_fact_bytes = 4;
constexpr std::size_t k_pack_bytes = 40;
constexpr std::size_t k_piece_record_bytes = 52;
constexpr std::size_t k_item_bytes = 13;

void write_key(base::WireWriter& out, const Key& key)
{
    out.raw(std::string_view(reinterpret_cast<const char*>(key.digest.data()), key.digest.size()));
}

Key read_key(base::WireReader& in)
{
    Key key;
    const ByteView bytes = in.raw(key.digest.size());
    if (bytes.size() == key.digest.size())
        std::memcpy(key.digest.data(), bytes.data(), bytes.size());
    return key;
}

// Reads a count of things that take at least `least` bytes each; 0 if there cannot be so many.
std::uint32_t read_count(base::WireReader& in, std::size_t least, bool& broken)
{
    const auto count = in.number<std::uint32_t>();
    if (count <= in.rest() / least)
        return count;
    broken = true;
    return 0;
}

Item read_item(base::WireReader& in, bool& broken)
{
    Item item;
    item.kind = static_cast<Kind>(in.number<std::uint8_t>());
    item.mode = in.number<std::uint16_t>();
    item.modified = in.number<std::int64_t>();
    item.path = in.prefixed<std::uint16_t>();
    if (item.kind == Kind::file)
        for (std::uint32_t left = read_count(in, sizeof(std::uint32_t), broken); left > 0; --left)
            item.pieces.push_back(in.number<std::uint32_t>());
    else if (item.kind == Kind::link)
        item.target = in.prefixed<std::uint16_t>();
    return item;
}

// Whether every number leads to something that is there, and files are cut into pieces as a capture cuts them: a short
// list of tiny pieces could keep a restore busy for hours.
bool is_consistent(const Capture& capture)
{
    for (const Piece& piece : capture.pieces)
        if (piece.pack >= capture.packs.size() || piece.size == 0 || piece.size > k_piece_bytes ||
            piece.offset > capture.packs[piece.pack].size || piece.size > capture.packs[piece.pack].size - piece.offset)
            return false;
    for (const Item& item : capture.items)
        for (std::size_t i = 0; i < item.pieces.size(); ++i) {
            const bool is_last = i + 1 == item.pieces.size();
            if (item.pieces[i] >= capture.pieces.size() ||
                (!is_last && capture.pieces[item.pieces[i]].size != k_piece_bytes))
                return false;
        }
    return true;
}

// What is wrong with a path as a name for something below a directory; empty: nothing.
std::string_view problem_of_path(std::string_view path)
{
    if (path.empty() || path.size() > k_longest_path)
        return "is no path";
    if (path.front() == '/')
        return "is an absolute path";
    if (path.find('\0') != std::string_view::npos)
        return "has a zero byte";
    std::string_view rest = path;
    bool first = true;
    while (!rest.empty() || first) {
        const std::string_view name = base::take_until('/', rest);
        if (name == "..")
            return "leads out of the directory";
        if (name.empty() || name == "." || name.size() > k_longest_name)
            return "is no plain path";
        if (first && (name == k_staging || name == k_lock))
            return "is where restores are prepared";
        first = false;
    }
    return path.back() == '/' ? "is no plain path" : "";
}

// A link may climb with ".." at its beginning, no higher than the directory, and then only go down. What is on its way
// is a folder of the capture, or a link of which the same is true, so it cannot leave the directory.
std::string_view problem_of_target(std::string_view path, std::string_view target)
{
    auto depth = std::count(path.begin(), path.end(), '/');
    while (target.starts_with("../") || target == "..") {
        if (--depth < 0)
            return "leads out of the directory";
        target.remove_prefix(std::min<std::size_t>(3, target.size()));
    }
    return target.empty() ? "is no plain link" : problem_of_path(target);
}

Status check_item(const Item& item, std::string_view before, std::unordered_set<std::string_view>& folders)
{
    const auto refused = [&](std::string_view why) {
        return error(Code::denied, "The capture holds {}, which {}. It is refused; nothing was written.",
                     in_quotes(item.path), why);
    };
    if (const std::string_view problem = problem_of_path(item.path); !problem.empty())
        return refused(problem);
    if (!before.empty() && item.path <= before)
        return refused("is there twice or out of order");
    const std::size_t slash = item.path.rfind('/');
    if (slash != std::string::npos && !folders.contains(std::string_view(item.path).substr(0, slash)))
        return refused("lies in no folder of the capture");
    if ((item.mode & ~k_permissions) != 0)
        return refused("has a mode beyond permissions (setuid, setgid or sticky)");
    switch (item.kind) {
    case Kind::folder:
        folders.insert(item.path);
        return {};
    case Kind::file:
        return {};
    case Kind::link:
        if (const std::string_view problem = problem_of_target(item.path, item.target); !problem.empty())
            return refused(fmt::format("is a link to {}, which {}", in_quotes(item.target), problem));
        return {};
    }
    return refused("is neither a file nor a folder nor a link");
}

}  // namespace

std::uint64_t Capture::size_of(const Item& item) const
{
    std::uint64_t total = 0;
    for (const std::uint32_t piece : item.pieces)
        total += pieces[piece].size;
    return total;
}

std::uint64_t Capture::bytes() const
{
    std::uint64_t total = 0;
    for (const Item& item : items)
        total += size_of(item);
    return total;
}

std::uint64_t Capture::files() const
{
    return static_cast<std::uint64_t>(
        std::count_if(items.begin(), items.end(), [](const Item& item) { return item.kind != Kind::folder; }));
}

Key content_key(ByteView content)
{
    return KeyBuilder("carry-content").bytes("content", content).key();
}

bool stays_inside(const Item& link)
{
    return problem_of_target(link.path, link.target).empty();
}

std::string encode(const Capture& capture)
{
    base::WireWriter out;
    out.number(k_version);
    out.prefixed<std::uint16_t>(capture.name);
    out.prefixed<std::uint16_t>(capture.directory);
    out.number(static_cast<std::uint32_t>(capture.identity.size()));
    for (const Fact& fact : capture.identity) {
        out.prefixed<std::uint16_t>(fact.what);
        out.prefixed<std::uint16_t>(fact.value);
    }
    out.number(static_cast<std::uint32_t>(capture.packs.size()));
    for (const Pack& pack : capture.packs) {
        write_key(out, pack.key);
        out.number(pack.size);
    }
    out.number(static_cast<std::uint32_t>(capture.pieces.size()));
    for (const Piece& piece : capture.pieces) {
        write_key(out, piece.content);
        out.number(piece.pack);
        out.number(piece.offset);
        out.number(piece.size);
    }
    out.number(static_cast<std::uint32_t>(capture.items.size()));
    for (const Item& item : capture.items) {
        out.number(static_cast<std::uint8_t>(item.kind));
        out.number(item.mode);
        out.number(item.modified);
        out.prefixed<std::uint16_t>(item.path);
        if (item.kind == Kind::file) {
            out.number(static_cast<std::uint32_t>(item.pieces.size()));
            for (const std::uint32_t piece : item.pieces)
                out.number(piece);
        } else if (item.kind == Kind::link) {
            out.prefixed<std::uint16_t>(item.target);
        }
    }
    return std::move(out.out());
}

Result<Capture> decode(ByteView bytes)
{
    base::WireReader in(bytes);
    if (const auto version = in.number<std::uint32_t>(); !in.failed() && version != k_version)
        return error(Code::other_version, "The capture is of version {}, and this Hearth reads version {}.", version,
                     k_version);
    Capture capture;
    bool broken = false;
    capture.name = in.prefixed<std::uint16_t>();
    capture.directory = in.prefixed<std::uint16_t>();
    for (std::uint32_t left = read_count(in, k_fact_bytes, broken); left > 0; --left) {
        Fact fact;
        fact.what = in.prefixed<std::uint16_t>();
        fact.value = in.prefixed<std::uint16_t>();
        capture.identity.push_back(std::move(fact));
    }
    for (std::uint32_t left = read_count(in, k_pack_bytes, broken); left > 0; --left) {
        Pack pack;
        pack.key = read_key(in);
        pack.size = in.number<std::uint64_t>();
        capture.packs.push_back(pack);
    }
    for (std::uint32_t left = read_count(in, k_piece_record_bytes, broken); left > 0; --left) {
        Piece piece;
        piece.content = read_key(in);
        piece.pack = in.number<std::uint32_t>();
        piece.offset = in.number<std::uint64_t>();
        piece.size = in.number<std::uint64_t>();
        capture.pieces.push_back(piece);
    }
    for (std::uint32_t left = read_count(in, k_item_bytes, broken); left > 0 && !in.failed(); --left)
        capture.items.push_back(read_item(in, broken));
    if (broken || in.failed() || !in.at_end() || !is_consistent(capture))
        return error(Code::corrupt, "{}", "The capture is damaged: it does not follow its own format.");
    return capture;
}

Status check(const Capture& capture, const Bounds& bounds)
{
    if (capture.items.size() > bounds.items)
        return error(Code::too_large,
                     "The capture holds {} files and folders, more than the {} that are allowed. "
                     "Allow more with --max-files.",
                     capture.items.size(), bounds.items);
    // One content may stand for many files, so it is what they take together that counts.
    std::uint64_t bytes = 0;
    for (const Item& item : capture.items) {
        bytes += capture.size_of(item);
        if (bytes > bounds.bytes)
            return error(Code::too_large,
                         "The capture's files take more than the {} that are allowed. Allow more with --max-bytes.",
                         format_size(bounds.bytes));
    }
    std::unordered_set<std::string_view> folders;
    std::string_view before;
    for (const Item& item : capture.items) {
        HEARTH_TRY(check_item(item, before, folders));
        before = item.path;
    }
    return {};
}

}  // namespace hearth::cli::carry
