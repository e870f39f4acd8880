#pragma once

#include "base/placed_file.hpp"
#include "format/bundle.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace hearth::format {

// Writes a bundle, and puts it in its place on finish(). A file that was there stays until then, and a writer that is
// destroyed before leaves nothing behind.
// Thread safety: none. Cost: entries go straight to the file; 80 bytes of each are kept until the end. If fewer come
// than were announced, they are moved once more, at the end.
class BundleWriter {
public:
    BundleWriter(base::Files& files, std::string path, std::uint64_t announced);

    // Adds an entry that is known to be intact, with its signature. Entries come in the order of their keys, each once.
    Status add(ByteView entry);
    // What is in place now: its root, and how long it is.
    struct Written {
        base::Sha256 root{};
        std::uint64_t entries = 0;
        std::uint64_t bytes = 0;
    };
    Result<Written> finish(const base::Sha256& delta_over, const SigningKey* sign_with);

private:
    using Counts = std::map<std::string, std::uint64_t>;

    void move_entries(std::uint64_t to);

    const std::string m_path;
    base::PlacedFile m_file;
    std::uint64_t m_entries_at = 0;
    std::uint64_t m_entry_bytes = 0;
    std::string m_rows;
    Counts m_targets;
    Counts m_compilers;
};

}  // namespace hearth::format
