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
    Bytes bytes;
    const Found found = read(key, bytes);
    if (found || found.why == Miss::other_version)
        return;
    if (found.why == Miss::untrusted && !bytes.empty())
        quarantine(key, bytes);
    unlink(session, key);
    m_uses.forget(key);
}

// Keeps a copy for people to examine, in a folder that no lookup reads.
void DiskTier::quarantine(const Key& key, const Bytes& bytes)
{
    base::Files& files = m_directory.files();
    if (m_directory.make_folder(m_directory.layout().quarantine()) != 0)
        return;
    const base::FileHandle folder = m_directory.open_folder(m_directory.layout().quarantine());
    if (!folder.open())
        return;
    const std::string name = key.hex();
    files.unlink({folder.fd(), name});  // never written in place: it may have a second name elsewhere
    const base::FileHandle file(files,
                                base::create_file(files, {folder.fd(), name}, O_WRONLY, m_directory.file_mode()));
    if (file.open())
        static_cast<void>(base::write_all(files, file.fd(), bytes, 0));
}

}  // namespace hearth::tiers
