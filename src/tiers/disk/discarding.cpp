// What happens to entries that cannot be used.

#include "tiers/disk/disk_tier.hpp"
#include "tiers/disk/session.hpp"

#include <fcntl.h>

namespace hearth::tiers {

void DiskTier::discard(const Key& key)
{
    if (!traits().writable)
        return;
    Session session(*this);
    if (session.error() != 0)
        return;
    // Checked again under the lock: another process may have put a good one in its place.
    int error = 0;
    const Bytes bytes = m_directory.read_entry(key, error);
    const format::DecodedEntry decoded =
        error == 0 ? format::decode_trusted(bytes, key, m_options.trust) : format::DecodedEntry{};
    if (decoded.artifact)
        return;
    if (error == 0 && decoded.why == Miss::untrusted)
        quarantine(key, bytes);
    unlink(session, key);
    m_uses.forget(key);
}

// Keeps a copy for people to examine, in a folder that no lookup reads.
void DiskTier::quarantine(const Key& key, const Bytes& bytes)
{
    const std::string folder = m_options.directory + "/quarantine";
    const std::string path = folder + "/" + key.hex();
    base::Files& files = m_directory.files();
    if (base::make_directories(files, folder, 0700) != 0)
        return;
    const base::FileHandle file(files, files.open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    if (file.open())
        static_cast<void>(base::write_all(files, file.fd(), bytes, 0));
}

}  // namespace hearth::tiers
