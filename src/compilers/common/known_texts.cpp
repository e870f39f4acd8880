#include "compilers/common/known_texts.hpp"

#include "base/fork.hpp"
#include "base/of_process.hpp"
#include "base/wire.hpp"
#include "hearth/refuse.hpp"

#include <cstring>
#include <mutex>
#include <span>

namespace hearth::compilers {

namespace {

constexpr std::string_view k_texts_magic = "hearth texts 1\n";
// More than the largest directory of headers that is known takes. Beyond it, only those of the last compile are kept.
constexpr std::size_t k_largest_entry = std::size_t{8} << 20;
// An entry is written again when this part of it is new. So what is written stays in proportion to what is learnt.
constexpr std::size_t k_new_part = 8;

// Facts of texts that this process has seen.
class TextsOfProcess {
public:
    std::shared_ptr<const TextFacts> find(const base::Sha256& digest) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_known.find(digest);
        return found != m_known.end() ? found->second : nullptr;
    }

    std::shared_ptr<const TextFacts> remember(const base::Sha256& digest, TextFacts facts)
    {
        auto shared = std::make_shared<const TextFacts>(std::move(facts));
        const std::lock_guard lock(m_mutex);
        if (m_known.size() >= k_most)
            m_known.clear();
        return m_known.emplace(digest, std::move(shared)).first->second;
    }

private:
    static constexpr std::size_t k_most = 4096;

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::map<base::Sha256, std::shared_ptr<const TextFacts>> m_known;
};

Key key_of_texts(std::string_view directory)
{
    return Key::of("hearth texts of a directory", directory);
}

}  // namespace

std::optional<base::Sha256> KnownTexts::digest_of(const std::string& path, const watch::FileIdentity& file)
{
    const std::optional<Place> place = place_of(path);
    if (!place)
        return std::nullopt;
    const auto found = place->directory->files.find(place->name);
    if (found == place->directory->files.end() || found->second.identity != file)
        return std::nullopt;
    File& known = found->second;
    std::shared_ptr<const TextFacts>& facts = m_found[known.digest];
    if (facts == nullptr)
        facts = base::of_process<TextsOfProcess>().find(known.digest);
    if (facts == nullptr)
        if (std::optional<TextFacts> decoded = TextFacts::decode(as_bytes(known.facts)))
            facts = base::of_process<TextsOfProcess>().remember(known.digest, *std::move(decoded));
    known.is_used = facts != nullptr;
    return known.is_used ? std::optional(known.digest) : std::nullopt;
}

std::shared_ptr<const TextFacts> KnownTexts::facts_of(const watch::ReadText& text)
{
    std::shared_ptr<const TextFacts>& facts = m_found[text.digest];
    if (facts == nullptr)
        facts = base::of_process<TextsOfProcess>().find(text.digest);
    if (facts == nullptr)
        facts = base::of_process<TextsOfProcess>().remember(text.digest, TextFacts::of_source(text.text));
    return facts;
}

void KnownTexts::learn(const watch::ReadText& text, const TextFacts& facts)
{
    const std::optional<Place> place = text.stamp.settled ? place_of(text.path) : std::nullopt;
    if (!place)
        return;
    m_learnt.push_back(facts.encode());
    place->directory->files.insert_or_assign(place->name, File{text.stamp.file, text.digest, m_learnt.back(), true});
    place->directory->new_bytes += m_learnt.back().size();
}

void KnownTexts::keep()
{
    for (const auto& [path, directory] : m_directories)
        if (directory.new_bytes != 0 && directory.new_bytes >= directory.bytes / k_new_part)
            write(path, directory);
}

std::optional<KnownTexts::Place> KnownTexts::place_of(const std::string& path)
{
    if (m_cache == nullptr)
        return std::nullopt;
    const std::string whole = path.starts_with('/') ? path : m_working_directory + "/" + path;
    const std::size_t slash = whole.find_last_of('/');
    const std::string_view parent = std::string_view(whole).substr(0, slash);
    auto found = m_directories.find(parent);
    if (found == m_directories.end()) {
        found = m_directories.try_emplace(std::string(parent)).first;
        found->second.kept = peek_fact(*m_cache, key_of_texts(parent));
        if (found->second.kept)
            read(found->second);
    }
    return Place{&found->second, whole.substr(slash + 1)};
}

void KnownTexts::read(Directory& directory)
{
    base::WireReader in(directory.kept->bytes());
    directory.bytes = in.rest();
    if (as_text(in.raw(k_texts_magic.size())) != k_texts_magic)
        return;
    while (!in.at_end()) {
        std::string name(in.prefixed<std::uint16_t>());
        File file;
        file.identity.device = in.number<std::uint64_t>();
        file.identity.inode = in.number<std::uint64_t>();
        file.identity.size = in.number<std::uint64_t>();
        file.identity.modified_ns = in.number<std::int64_t>();
        file.identity.changed_ns = in.number<std::int64_t>();
        const ByteView digest = in.raw(file.digest.size());
        file.facts = in.prefixed<std::uint32_t>();
        if (in.failed())
            return;
        std::memcpy(file.digest.data(), digest.data(), digest.size());
        directory.files.insert_or_assign(std::move(name), file);
    }
}

void KnownTexts::write(const std::string& path, const Directory& directory)
{
    const bool is_full = directory.bytes + directory.new_bytes > k_largest_entry;
    base::WireWriter out;
    out.raw(k_texts_magic);
    for (const auto& [name, file] : directory.files) {
        if (is_full && !file.is_used)
            continue;
        out.prefixed<std::uint16_t>(name);
        out.number(file.identity.device);
        out.number(file.identity.inode);
        out.number(file.identity.size);
        out.number(file.identity.modified_ns);
        out.number(file.identity.changed_ns);
        out.raw(std::as_bytes(std::span(file.digest)));
        out.prefixed<std::uint32_t>(file.facts);
    }
    Artifact artifact{std::string_view(out.out())};
    artifact.metadata.label = "texts of " + path;
    static_cast<void>(m_cache->insert(key_of_texts(path), std::move(artifact), {.kind = EntryKind::derived}));
}

}  // namespace hearth::compilers
