#include "format/bundle_file.hpp"

#include "base/error.hpp"
#include "format/entry_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>

namespace hearth::format {

namespace {

Bytes read_bytes(base::Files& files, int fd, std::uint64_t at, std::uint64_t size, int& error)
try {
    return base::read_part(files, fd, at, size, error);
} catch (const std::bad_alloc&) {
    error = -ENOMEM;
    return {};
}

Error cannot_read(const std::string& path, int error)
{
    return {error == -ENOENT ? Code::not_found : Code::io,
            base::describe("Cannot read the bundle", path, error) +
                ". Give the path of one that `hearth bundle create` made.",
            {}};
}

}  // namespace

Miss miss_of(int read_error)
{
    return read_error == -ENODATA ? Miss::corrupt : Miss::outage;
}

BundleFile::BundleFile(base::Files& files, std::string path, base::FileHandle file, std::uint64_t size, BundleHead head)
    : m_files(files), m_path(std::move(path)), m_file(std::move(file)), m_size(size), m_head(std::move(head)),
      m_pages(new std::atomic<const Bytes*>[m_head.header().pages()] {})
{
}

BundleFile::~BundleFile()
{
    for (std::size_t i = 0; i < m_head.header().pages(); ++i)
        delete m_pages[i].load(std::memory_order_acquire);
}

Result<std::unique_ptr<BundleFile>> BundleFile::open(base::Files& files, const std::string& path)
{
    // Non-blocking, so that a FIFO put where a file should be cannot hang the caller.
    base::FileHandle file(files, files.open(path.c_str(), O_RDONLY | O_NONBLOCK, 0));
    base::FileStat stat;
    int error = file.open() ? files.stat(file.fd(), stat) : file.fd();
    if (error == 0 && stat.type != base::FileType::file)
        error = stat.type == base::FileType::directory ? -EISDIR : -EINVAL;
    if (error != 0)
        return cannot_read(path, error);
    const Bytes start =
        read_bytes(files, file.fd(), 0, std::min<std::uint64_t>(stat.size, k_bundle_header_size), error);
    if (error != 0)
        return cannot_read(path, error);
    const Result<BundleHeader> header = decode_bundle_header(start, stat.size, path);
    HEARTH_TRY(header);
    const Bytes bytes = read_bytes(files, file.fd(), 0, header->page_at(0), error);
    if (error != 0)
        return cannot_read(path, error);
    Result<BundleHead> head = BundleHead::decode(*header, bytes, path);
    HEARTH_TRY(head);
    return std::unique_ptr<BundleFile>(new BundleFile(files, path, std::move(file), stat.size, *std::move(head)));
}

const Bytes* BundleFile::page(std::size_t number, Miss& why) const
{
    // acquire: pairs with the exchange below, so that the rows are seen whole.
    if (const Bytes* known = m_pages[number].load(std::memory_order_acquire))
        return known;
    int error = 0;
    const BundleHeader& header = m_head.header();
    Bytes bytes =
        read_bytes(m_files, m_file.fd(), header.page_at(number), header.rows_in(number) * k_bundle_row_size, error);
    if (error != 0 || !m_head.is_page(number, bytes)) {
        // The failure is not remembered: the file may still be arriving.
        why = error == 0 ? Miss::corrupt : miss_of(error);
        return nullptr;
    }
    auto fresh = std::make_unique<const Bytes>(std::move(bytes));
    const Bytes* before = nullptr;
    if (m_pages[number].compare_exchange_strong(before, fresh.get(), std::memory_order_acq_rel))
        return fresh.release();
    return before;
}

std::optional<BundleFile::Place> BundleFile::find(const Key& key, Miss& why) const
{
    why = Miss::absent;
    const std::optional<std::size_t> number = m_head.page_with(key);
    const Bytes* const rows = number ? page(*number, why) : nullptr;
    const std::optional<std::size_t> place = rows ? find_in_page(*rows, key) : std::nullopt;
    if (!place)
        return std::nullopt;
    return Place{*number * k_bundle_page_rows + *place, bundle_row(*rows, *place)};
}

bool BundleFile::reaches(const BundleRow& row) const
{
    return m_head.header().entries_at() + row.offset + row.size <= m_size;
}

Bytes BundleFile::read(const BundleRow& row, int& error) const
{
    error = reaches(row) ? 0 : -ENODATA;
    if (error != 0)
        return {};
    return read_bytes(m_files, m_file.fd(), m_head.header().entries_at() + row.offset, row.size, error);
}

Bytes BundleFile::read_head(const BundleRow& row, int& error) const
{
    error = reaches(row) ? 0 : -ENODATA;
    if (error != 0)
        return {};
    return read_entry_head(m_files, m_file.fd(), m_head.header().entries_at() + row.offset, row.size, error);
}

}  // namespace hearth::format
