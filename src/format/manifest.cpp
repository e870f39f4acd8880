#include "format/manifest.hpp"

#include "base/wire.hpp"

#include <cstring>

namespace hearth::format {

namespace {

constexpr std::string_view k_manifest_magic = "hearth manifest 1\n";
constexpr std::uint8_t k_manifest_program_path = 1;
constexpr std::uint8_t k_manifest_all_paths = 2;
constexpr std::uint8_t k_manifest_own_path = 1;
constexpr std::uint8_t k_manifest_settled = 2;
// The smallest encodings, which bound the counts before anything is allocated.
constexpr std::size_t k_least_manifest_file = 2 + 2 + 32 + 1 + 40;
constexpr std::size_t k_least_manifest_path = 2;

}  // namespace

Bytes encode_manifest(const Manifest& manifest)
{
    base::WireWriter out;
    out.raw(k_manifest_magic);
    out.number(static_cast<std::uint8_t>((manifest.program_path_matters ? k_manifest_program_path : 0) |
                                         (manifest.all_paths_matter ? k_manifest_all_paths : 0)));
    out.prefixed<std::uint16_t>(manifest.why_past_the_cache);
    out.number(static_cast<std::uint32_t>(manifest.files.size()));
    for (const ManifestFile& file : manifest.files) {
        out.prefixed<std::uint16_t>(file.path);
        out.prefixed<std::uint16_t>(file.label);
        out.raw(std::as_bytes(std::span(file.digest)));
        out.number(static_cast<std::uint8_t>((file.path_matters ? k_manifest_own_path : 0) |
                                             (file.settled ? k_manifest_settled : 0)));
        out.number(file.identity.device);
        out.number(file.identity.inode);
        out.number(file.identity.size);
        out.number(file.identity.modified_ns);
        out.number(file.identity.changed_ns);
    }
    out.number(static_cast<std::uint32_t>(manifest.absent.size()));
    for (const std::string& path : manifest.absent)
        out.prefixed<std::uint16_t>(path);
    return Bytes::copy_of(out.view());
}

std::optional<Manifest> decode_manifest(ByteView bytes)
{
    base::WireReader in(bytes);
    Manifest manifest;
    if (as_text(in.raw(k_manifest_magic.size())) != k_manifest_magic)
        return std::nullopt;
    const auto flags = in.number<std::uint8_t>();
    if ((flags & ~(k_manifest_program_path | k_manifest_all_paths)) != 0)
        return std::nullopt;
    manifest.program_path_matters = (flags & k_manifest_program_path) != 0;
    manifest.all_paths_matter = (flags & k_manifest_all_paths) != 0;
    manifest.why_past_the_cache = in.prefixed<std::uint16_t>();
    const auto files = in.number<std::uint32_t>();
    if (files > in.rest() / k_least_manifest_file)
        return std::nullopt;
    manifest.files.reserve(files);
    for (std::uint32_t i = 0; i < files && !in.failed(); ++i) {
        ManifestFile file;
        file.path = in.prefixed<std::uint16_t>();
        file.label = in.prefixed<std::uint16_t>();
        if (const ByteView digest = in.raw(file.digest.size()); !in.failed())
            std::memcpy(file.digest.data(), digest.data(), digest.size());
        const auto own = in.number<std::uint8_t>();
        if ((own & ~(k_manifest_own_path | k_manifest_settled)) != 0)
            return std::nullopt;
        file.path_matters = (own & k_manifest_own_path) != 0;
        file.settled = (own & k_manifest_settled) != 0;
        file.identity.device = in.number<std::uint64_t>();
        file.identity.inode = in.number<std::uint64_t>();
        file.identity.size = in.number<std::uint64_t>();
        file.identity.modified_ns = in.number<std::int64_t>();
        file.identity.changed_ns = in.number<std::int64_t>();
        manifest.files.push_back(std::move(file));
    }
    const auto absent = in.number<std::uint32_t>();
    if (absent > in.rest() / k_least_manifest_path)
        return std::nullopt;
    manifest.absent.reserve(absent);
    for (std::uint32_t i = 0; i < absent && !in.failed(); ++i)
        manifest.absent.emplace_back(in.prefixed<std::uint16_t>());
    if (in.failed() || !in.at_end())
        return std::nullopt;
    return manifest;
}

}  // namespace hearth::format
