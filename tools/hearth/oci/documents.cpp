#include "oci/documents.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "json/json.hpp"

#include <algorithm>

namespace hearth::cli::oci {

namespace {

constexpr std::string_view k_index_type = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view k_digest_name = "sha256:";
constexpr std::size_t k_digits = 64;

std::string joined(const std::vector<bundles::Named>& names)
{
    std::string text;
    for (const bundles::Named& one : names)
        text += (text.empty() ? "" : ", ") + one.name;
    return text;
}

// What the bundle says of itself; in the manifest for registries, and in the config, where tools for images show it.
Json annotations(const bundles::Facts& facts)
{
    Json all{{"org.opencontainers.image.title", "Hearth bundle"},
             {"org.opencontainers.image.version", facts.id},
             {"hearth.bundle.entries", std::to_string(facts.entries)},
             {"hearth.bundle.targets", joined(facts.targets)},
             {"hearth.bundle.compilers", joined(facts.compilers)}};
    if (facts.signed_by)
        all.add("hearth.bundle.signed-by", facts.signed_by->text());
    if (!facts.base.empty())
        all.add("hearth.bundle.base", facts.base);
    return all;
}

Json as_json(const Descriptor& descriptor)
{
    return {{"mediaType", descriptor.media_type},
            {"digest", std::string(k_digest_name) + descriptor.digest},
            {"size", descriptor.size}};
}

bool is_digest(std::string_view text)
{
    return text.size() == k_digits &&
           std::all_of(text.begin(), text.end(), [](char c) { return base::is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Result<Descriptor> descriptor_of(const JsonValue& value, const std::string& folder)
{
    Descriptor descriptor{.media_type = value.text_of("mediaType"), .digest = value.text_of("digest")};
    if (!descriptor.digest.starts_with(k_digest_name) ||
        !is_digest(std::string_view(descriptor.digest).substr(k_digest_name.size())))
        return error(Code::corrupt,
                     "{} names a blob \"{}\", which is not sha256: with 64 digits. Get the layout again.", folder,
                     base::printable(descriptor.digest));
    descriptor.digest.erase(0, k_digest_name.size());
    const JsonValue* const size = value.find("size");
    const std::optional<std::uint64_t> bytes = size != nullptr && size->kind == JsonValue::Kind::number
                                                   ? base::parse_number<std::uint64_t>(size->text)
                                                   : std::nullopt;
    if (!bytes)
        return error(Code::corrupt, "{} does not say how large the blob {} is. Get the layout again.", folder,
                     descriptor.digest);
    descriptor.size = *bytes;
    return descriptor;
}

const std::vector<JsonValue>* array_in(const JsonValue& document, std::string_view name)
{
    const JsonValue* const found = document.find(name);
    return found != nullptr && found->kind == JsonValue::Kind::array ? &found->elements : nullptr;
}

}  // namespace

std::string config_of(const bundles::Facts& facts, const Descriptor& bundle)
{
    Json layers = Json::array();
    layers.add(std::string(k_digest_name) + bundle.digest);
    return Json{{"architecture", "unknown"},
                {"os", "unknown"},
                {"config", Json{{"Labels", annotations(facts)}}},
                {"rootfs", Json{{"type", "layers"}, {"diff_ids", layers}}}}
        .text();
}

std::string manifest_of(const bundles::Facts& facts, const Descriptor& config, const Descriptor& bundle)
{
    Json layer = as_json(bundle);
    layer.add("annotations", Json{{"org.opencontainers.image.title", "hearth.bundle"}});
    Json layers = Json::array();
    layers.add(layer);
    return Json{{"schemaVersion", 2},
                {"mediaType", k_manifest_type},
                {"artifactType", k_bundle_type},
                {"config", as_json(config)},
                {"layers", layers},
                {"annotations", annotations(facts)}}
        .text();
}

std::string index_of(const Descriptor& manifest)
{
    Json manifests = Json::array();
    manifests.add(as_json(manifest));
    return Json{{"schemaVersion", 2}, {"mediaType", k_index_type}, {"manifests", manifests}}.text();
}

Status check_layout(std::string_view text, const std::string& folder)
{
    const std::string version = JsonValue::parse(text).text_of("imageLayoutVersion");
    if (version == "1.0.0")
        return {};
    return error(Code::other_version, "{} is an image layout of version \"{}\"; 1.0.0 is the one that is known.",
                 folder, base::printable(version));
}

Result<Descriptor> manifest_in(std::string_view index, const std::string& folder)
{
    const JsonValue document = JsonValue::parse(index);
    const std::vector<JsonValue>* const manifests = array_in(document, "manifests");
    if (manifests == nullptr)
        return error(Code::corrupt, "{}/index.json has no list of manifests. Get the layout again.", folder);
    if (manifests->size() != 1)
        return error(Code::invalid_argument,
                     "{} holds {} images, and one is wanted. Copy that one to a folder of its own: skopeo copy "
                     "oci:{}:TAG oci:OTHER.",
                     folder, manifests->size(), folder);
    HEARTH_TRY_SET(Descriptor manifest, descriptor_of(manifests->front(), folder));
    if (manifest.media_type != k_manifest_type)
        return error(Code::invalid_argument, "The image in {} is of type \"{}\", and {} is wanted.", folder,
                     base::printable(manifest.media_type), k_manifest_type);
    return manifest;
}

Result<Descriptor> bundle_in(std::string_view manifest, const std::string& folder)
{
    const JsonValue document = JsonValue::parse(manifest);
    const std::vector<JsonValue>* const layers = array_in(document, "layers");
    const JsonValue* found = nullptr;
    std::size_t count = 0;
    for (std::size_t i = 0; layers != nullptr && i < layers->size(); ++i)
        if ((*layers)[i].text_of("mediaType") == k_bundle_type) {
            found = &(*layers)[i];
            ++count;
        }
    if (count != 1)
        return error(
            Code::invalid_argument,
            "The image in {} has {} layers of type {}, and one is wanted. Was it written by 'hearth bundle oci'?",
            folder, count, k_bundle_type);
    return descriptor_of(*found, folder);
}

}  // namespace hearth::cli::oci
