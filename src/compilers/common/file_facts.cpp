#include "compilers/common/file_facts.hpp"

#include "base/digest.hpp"
#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/fork.hpp"
#include "base/hex.hpp"
#include "base/of_process.hpp"
#include "hearth/libraries.hpp"
#include "hearth/refuse.hpp"
#include "watch/recorders.hpp"
#include "watch/source_file.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace hearth {

namespace compilers {

namespace {

// Which fact it is. What one cache's directory says is no fact to the others.
struct FactId {
    std::string what;
    watch::FileIdentity file;
    std::string directory;
    friend auto operator<=>(const FactId&, const FactId&) = default;
};

// What this process has found out, so that a hit need not read it from a tier each time.
class KnownFacts {
public:
    std::optional<Bytes> find(const FactId& id) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_known.find(id);
        return found != m_known.end() ? std::optional(found->second) : std::nullopt;
    }

    Bytes remember(const FactId& id, Bytes fact)
    {
        const std::lock_guard lock(m_mutex);
        if (m_known.size() >= k_most)
            m_known.clear();
        return m_known.insert_or_assign(id, std::move(fact)).first->second;
    }

private:
    static constexpr std::size_t k_most = 1024;

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::map<FactId, Bytes> m_known;
};

}  // namespace

Bytes fact_of_file(Cache& cache, std::string_view what, const std::string& path,
                   const std::function<std::string()>& find_out)
{
    const std::optional<watch::FileIdentity> file = watch::identify(path);
    return file ? fact_of_file(cache, what, path, *file, find_out) : Bytes{};
}

Bytes fact_of_file(Cache& cache, std::string_view what, const std::string& path, const watch::FileIdentity& file,
                   const std::function<std::string()>& find_out)
{
    const FactId id{std::string(what), file, cache.directory()};
    auto& known_facts = base::of_process<KnownFacts>();
    if (std::optional<Bytes> known = known_facts.find(id))
        return *std::move(known);
    const Key key =
        Key::of("hearth file fact", what, file.device, file.inode, file.size, file.modified_ns, file.changed_ns);
    if (const Lookup known = peek_fact(cache, key))
        return known_facts.remember(id, Bytes::copy_of(known->text()));
    std::string fact;
    if (!watch::is_settled(file))
        return Bytes::copy_of(find_out());
    // Processes that want it at once wait for one of them.
    const Result<Lookup> made =
        cache.get_or_compile(key,
                             [&]() -> Result<Artifact> {
                                 fact = find_out();
                                 if (fact.empty() || watch::identify(path) != file)
                                     return error(Code::unavailable, "{} has changed", path);
                                 Artifact artifact{std::string_view(fact)};
                                 artifact.metadata.label =
                                     fmt::format("{} of {}", what, std::filesystem::path(path).filename().string());
                                 return artifact;
                             },
                             {.kind = EntryKind::derived});
    if (made)
        return known_facts.remember(id, Bytes::copy_of((*made)->text()));
    return Bytes::copy_of(fact.empty() ? find_out() : fact);
}

std::string digest_of_file(Cache& cache, const std::string& path)
{
    const auto find_out = [&]() -> std::string {
        const std::optional<watch::SourceFile> content = watch::read_source(path);
        if (!content)
            return {};
        const base::Sha256 sum = base::sha256(as_bytes(content->text));
        return base::to_hex(std::as_bytes(std::span(sum)));
    };
    return std::string(fact_of_file(cache, "digest", path, find_out).text());
}

}  // namespace compilers

std::string why_not_watched(const std::string& library)
{
    const std::optional<std::vector<std::string>> imports = base::elf_imports(base::system_files(), library);
    return imports ? watch::why_not_watched(*imports) : "its table of symbols cannot be read";
}

std::string build_of_file(Cache& cache, const std::string& path)
{
    const auto find_out = [&] {
        std::string id = base::elf_build_id(base::system_files(), path);
        return id.empty() ? compilers::digest_of_file(cache, path) : id;
    };
    return std::string(compilers::fact_of_file(cache, "build", path, find_out).text());
}

}  // namespace hearth
