#include "compilers/common/file_facts.hpp"

#include "base/digest.hpp"
#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "hearth/libraries.hpp"
#include "watch/recorders.hpp"
#include "watch/source_file.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace hearth {

namespace compilers {

std::string fact_of_file(Cache& cache, std::string_view what, const std::string& path,
                         const std::function<std::string()>& find_out)
{
    const std::optional<watch::FileIdentity> file = watch::identify(path);
    if (!file)
        return {};
    const Key key =
        Key::of("hearth file fact", what, file->device, file->inode, file->size, file->modified_ns, file->changed_ns);
    if (const Lookup known = cache.peek(key, EntryKind::derived))
        return std::string(known->text());
    std::string fact;
    if (!watch::is_settled(*file))
        return find_out();
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
        return std::string((*made)->text());
    return fact.empty() ? find_out() : fact;
}

std::string digest_of_file(Cache& cache, const std::string& path)
{
    return fact_of_file(cache, "digest", path, [&]() -> std::string {
        const std::optional<watch::SourceFile> content = watch::read_source(path);
        if (!content)
            return {};
        const base::Sha256 sum = base::sha256(as_bytes(content->text));
        return base::to_hex(std::as_bytes(std::span(sum)));
    });
}

}  // namespace compilers

std::string why_not_watched(const std::string& library)
{
    const std::optional<std::vector<std::string>> imports = base::elf_imports(base::system_files(), library);
    return imports ? watch::why_not_watched(*imports) : "its table of symbols cannot be read";
}

std::string build_of_file(Cache& cache, const std::string& path)
{
    return compilers::fact_of_file(cache, "build", path, [&] {
        std::string id = base::elf_build_id(base::system_files(), path);
        return id.empty() ? compilers::digest_of_file(cache, path) : id;
    });
}

}  // namespace hearth
