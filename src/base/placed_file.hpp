#pragma once

#include "base/files.hpp"

#include <cstdint>
#include <string>

namespace hearth::base {

// A file that is written beside its place and put there when it is whole. What was there stays until then, and a file
// that is never placed leaves nothing behind. Links on the way to the place are followed; if something other than a
// regular file is there (a pipe, a device, a directory), it is not replaced.
// Thread safety: none. Failure: the first one counts, and every call after it does nothing.
// Cost: one more file name, which no other process or machine picks.
class PlacedFile {
public:
    enum class Sync : std::uint8_t { yes, no };

    // `mode` is for a new file; a file that replaces another of this user's keeps the old one's. Both are subject to
    // the umask. A neighbour may have put a file there that everybody can write to, or a second name of one of ours.
    PlacedFile(Files& files, const std::string& path, unsigned mode = 0644);
    ~PlacedFile();
    PlacedFile(const PlacedFile&) = delete;
    PlacedFile& operator=(const PlacedFile&) = delete;

    bool failed() const { return m_error != 0 || !m_refusal.empty(); }
    // What went wrong first, as a sentence that says what to do.
    Status status() const;

    void write(ByteView bytes, std::uint64_t at);
    void read(void* buffer, std::size_t size, std::uint64_t at);
    void truncate(std::uint64_t size);
    // Puts it in place. Synced, because most such files are meant to be carried away. Call it once, and last.
    Status place(Sync sync = Sync::yes);

private:
    Files& m_files;
    const std::string m_shown;  // the place as it was named
    std::string m_path;
    std::string m_part;
    FileHandle m_file;
    std::string m_refusal;
    int m_error = 0;
    bool m_beside = false;  // there is a file of that name, and it is ours
};

}  // namespace hearth::base
