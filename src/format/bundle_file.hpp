#pragma once

#include "base/files.hpp"
#include "format/bundle.hpp"
#include "hearth/tier.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hearth::format {

// A bundle that is open for reading: its head in memory, its pages as they are needed, its entries in the file.
// Thread safety: all of it, without a lock: threads that want a page at the same time may each read it.
// Ownership: the open file. If it is unlinked, or another file is renamed over it, nothing changes here.
// Cost: open() is four system calls and a digest of the head; find() reads and checks a page the first time.
class BundleFile {
public:
    static Result<std::unique_ptr<BundleFile>> open(base::Files& files, const std::string& path);
    ~BundleFile();
    BundleFile(const BundleFile&) = delete;
    BundleFile& operator=(const BundleFile&) = delete;

    const std::string& path() const { return m_path; }
    const BundleHead& head() const { return m_head; }
    // The file's size when it was opened. A file that has been cut is shorter than its header says.
    std::uint64_t size() const { return m_size; }

    // A page's rows, verified. Null if the page cannot be read; then `why` says corrupt or outage.
    const Bytes* page(std::size_t number, Miss& why) const;

    struct Place {
        std::size_t number = 0;  // among all rows, in the order of their keys
        BundleRow row;
    };
    // Where an entry lies; the entry itself is not read. If there is none, or its page cannot be read: none, and why.
    std::optional<Place> find(const Key& key, Miss& why) const;

    // The bytes that lie there, not verified; or -errno in `error`: -ENODATA if the file ends before them.
    Bytes read(const BundleRow& row, int& error) const;
    Bytes read_head(const BundleRow& row, int& error) const;
    // Whether the file is long enough to hold it.
    bool reaches(const BundleRow& row) const;

private:
    BundleFile(base::Files& files, std::string path, base::FileHandle file, std::uint64_t size, BundleHead head);

    base::Files& m_files;
    const std::string m_path;
    const base::FileHandle m_file;
    const std::uint64_t m_size;
    const BundleHead m_head;
    // A page is null until somebody has read it; from then on it stays the same.
    const std::unique_ptr<std::atomic<const Bytes*>[]> m_pages;
};

// The reason for the miss when read() failed.
Miss miss_of(int read_error);

}  // namespace hearth::format
