#include "oci/layout.hpp"

#include "base/digest_stream.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/placed_file.hpp"
#include "oci/documents.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

namespace hearth::cli::oci {

namespace {

constexpr std::size_t k_part = 1U << 20U;  // bytes read at once
constexpr const char* k_blobs = "blobs/sha256";
constexpr unsigned k_folder_mode = 0755;

std::string hex(const base::Sha256& digest)
{
    return base::to_hex(std::as_bytes(std::span(digest)));
}

std::string shown_digest(const Descriptor& descriptor)
{
    return "sha256:" + descriptor.digest;
}

Error failed(const char* action, const std::string& path, int error_number)
{
    return error(Code::io, "{}. Check the path, its permissions and the free space.",
                 base::describe(action, path, error_number));
}

// An open file that is read from its beginning to its end, perhaps into another. What it was told to be is checked.
class BlobFile {
public:
    static Result<BlobFile> open(base::At at, const std::string& shown)
    {
        base::Files& files = base::system_files();
        // Without waiting: whoever put a pipe there could make us wait for ever.
        base::FileHandle file(files, files.open(at, O_RDONLY | O_NONBLOCK, 0));
        if (!file.open())
            return failed("open", shown, -file.error());
        base::FileStat about;
        if (const int status = files.stat(file.fd(), about); status != 0)
            return failed("stat", shown, status);
        if (about.type != base::FileType::file)
            return error(Code::corrupt, "{} is no plain file. Get the layout again.", shown);
        return BlobFile(std::move(file), shown, about.size);
    }

    std::uint64_t size() const { return m_size; }

    // Its digest; copied to `copy` on the way, if that is given.
    Result<std::string> digest(base::PlacedFile* copy, const Progress& progress) const
    {
        base::Sha256Stream sum;
        std::vector<std::byte> part(k_part);
        for (std::uint64_t at = 0; at < m_size; at += part.size()) {
            if (progress && !progress(at, m_size))
                return error(Code::timeout, "It was stopped, and nothing was written.");
            part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(k_part, m_size - at)));
            const int status = base::read_exactly(base::system_files(), m_file.fd(), part.data(), part.size(), at);
            if (status != 0)
                return failed("read", m_shown, status);
            sum.add(part);
            if (copy != nullptr)
                copy->write(part, at);
        }
        return hex(sum.finish());
    }

private:
    BlobFile(base::FileHandle file, std::string shown, std::uint64_t size)
        : m_file(std::move(file)), m_shown(std::move(shown)), m_size(size)
    {
    }

    base::FileHandle m_file;
    std::string m_shown;
    std::uint64_t m_size;
};

Status put_document(const std::string& path, std::string_view text)
{
    base::PlacedFile file(base::system_files(), path);
    file.write(as_bytes(text), 0);
    return file.place();
}

Result<Descriptor> put_blob(const std::string& folder, std::string_view type, const std::string& text)
{
    const Descriptor blob{std::string(type), hex(base::sha256(as_bytes(text))), text.size()};
    HEARTH_TRY(put_document(folder + "/" + k_blobs + "/" + blob.digest, text));
    return blob;
}

// A new folder, or one in which writing was cut short: without an index.json, and with nothing of anybody else's.
Status prepare(const std::string& folder)
{
    base::Files& files = base::system_files();
    std::vector<std::string> names;
    const int listed = files.list(folder.c_str(), names);
    if (listed != 0 && listed != -ENOENT)
        return failed("open", folder, listed);
    for (const std::string& name : names)
        if (name != "blobs" && name != "oci-layout" && !name.starts_with("oci-layout.part-") &&
            !name.starts_with("index.json.part-"))
            return error(Code::invalid_argument, "{} holds something already; it is left as it is. Name a new folder.",
                         folder);
    if (const int made = base::make_directories(files, folder + "/" + k_blobs, k_folder_mode); made != 0)
        return failed("create", folder + "/" + k_blobs, made);
    return {};
}

Result<Bytes> document(int folder, const char* name, const std::string& shown)
{
    int status = 0;
    Bytes bytes = base::read_file(base::system_files(), {folder, name}, k_max_document, status);
    if (status != 0)
        return error(Code::invalid_argument, "{} is no image layout: {}.", shown,
                     base::describe("read", shown + "/" + name, status));
    return bytes;
}

}  // namespace

Result<Image> write_layout(const std::string& folder, const std::string& bundle, const Progress& progress)
{
    HEARTH_TRY_SET(const bundles::Facts facts, bundles::read(bundle));
    HEARTH_TRY_SET(const BlobFile file, BlobFile::open(base::real_path(bundle).c_str(), bundle));
    HEARTH_TRY_SET(const std::string digest, file.digest(nullptr, progress));
    const Descriptor layer{std::string(k_bundle_type), digest, file.size()};

    HEARTH_TRY(prepare(folder));
    base::PlacedFile copy(base::system_files(), folder + "/" + k_blobs + "/" + digest);
    HEARTH_TRY_SET(const std::string copied, file.digest(&copy, progress));
    if (copied != digest)
        return error(Code::corrupt, "{} was changed while it was read. Try again.", bundle);
    HEARTH_TRY(copy.place());
    HEARTH_TRY_SET(const Descriptor config, put_blob(folder, k_config_type, config_of(facts, layer)));
    HEARTH_TRY_SET(const Descriptor manifest, put_blob(folder, k_manifest_type, manifest_of(facts, config, layer)));
    HEARTH_TRY(put_document(folder + "/oci-layout", k_layout));
    HEARTH_TRY(put_document(folder + "/index.json", index_of(manifest)));
    return Image{shown_digest(manifest), facts};
}

Result<Image> read_layout(const std::string& path, const std::string& folder, const Progress& progress)
{
    base::Files& files = base::system_files();
    const base::FileHandle top = base::open_folder(files, folder, folder);
    if (!top.open())
        return failed("open", folder, -top.error());
    HEARTH_TRY_SET(const Bytes layout, document(top.fd(), "oci-layout", folder));
    HEARTH_TRY(check_layout(as_text(layout), folder));
    HEARTH_TRY_SET(const Bytes index, document(top.fd(), "index.json", folder));
    HEARTH_TRY_SET(const Descriptor manifest, manifest_in(as_text(index), folder));

    const std::string blobs_path = folder + "/" + k_blobs;
    const base::FileHandle blobs = base::open_folder(files, folder, blobs_path);
    if (!blobs.open())
        return failed("open", blobs_path, -blobs.error());
    const auto wrong = [&](const Descriptor& blob) {
        return error(Code::corrupt, "The content of {}/{} is not what its name and {} say. Get the layout again.",
                     blobs_path, blob.digest, folder);
    };
    HEARTH_TRY_SET(const Bytes text, document(blobs.fd(), manifest.digest.c_str(), blobs_path));
    if (text.size() != manifest.size || hex(base::sha256(text)) != manifest.digest)
        return wrong(manifest);
    HEARTH_TRY_SET(const Descriptor layer, bundle_in(as_text(text), folder));

    const std::string blob_path = blobs_path + "/" + layer.digest;
    HEARTH_TRY_SET(const BlobFile blob, BlobFile::open({blobs.fd(), layer.digest}, blob_path));
    if (blob.size() != layer.size)
        return wrong(layer);
    base::PlacedFile copy(files, path);
    HEARTH_TRY_SET(const std::string digest, blob.digest(&copy, progress));
    if (digest != layer.digest)
        return wrong(layer);
    HEARTH_TRY_SET(bundles::Facts facts, bundles::read(blob_path));  // it may be anything, rightly named
    HEARTH_TRY(copy.place());
    return Image{shown_digest(manifest), std::move(facts)};
}

}  // namespace hearth::cli::oci
