#include "format/archive.hpp"

#include "base/error.hpp"
#include "base/wire.hpp"
#include "format/entry.hpp"

#include <fcntl.h>
#include <fmt/format.h>

namespace hearth::format {

namespace {

constexpr std::string_view k_archive_magic = "\x89HRTHAR\n";
constexpr std::size_t k_header_size = 16;
constexpr std::size_t k_record_head = 9;
constexpr char k_entry_mark = 'E';
constexpr char k_end_mark = 'Z';

std::string record_head(char mark, std::uint64_t number)
{
    base::WireWriter head;
    head.number(mark);
    head.number(number);
    return std::move(head.out());
}

}  // namespace

ArchiveWriter::ArchiveWriter(base::Files& files, const std::string& path) : m_file(files, path)
{
    base::WireWriter header;
    header.raw(k_archive_magic);
    header.number(k_archive_version);
    header.out().resize(k_header_size, '\0');
    (void)put(header.view());
}

Status ArchiveWriter::put(ByteView bytes)
{
    m_file.write(bytes, m_at);
    m_at += bytes.size();
    return m_file.status();
}

Status ArchiveWriter::add(ByteView entry)
{
    if (Status head = put(as_bytes(record_head(k_entry_mark, entry.size()))); !head.ok())
        return head;
    ++m_count;
    return put(entry);
}

Status ArchiveWriter::finish()
{
    if (Status end = put(as_bytes(record_head(k_end_mark, m_count))); !end.ok())
        return end;
    return m_file.place();
}

ArchiveReader::ArchiveReader(base::Files& files, std::string path, base::FileHandle file, std::uint64_t size)
    : m_files(&files), m_path(std::move(path)), m_file(std::move(file)), m_size(size)
{
}

Error ArchiveReader::cut() const
{
    return error(Code::corrupt,
                 "{} ends or is damaged at byte {} of {}, after {} entries. What came before it was read; get "
                 "the file again for the rest.",
                 m_path, m_at, m_size, m_count);
}

Result<ArchiveReader> ArchiveReader::open(base::Files& files, const std::string& path)
{
    base::FileHandle file(files, files.open(path.c_str(), O_RDONLY | O_NONBLOCK, 0));
    base::FileStat stat;
    const int error = file.open() ? files.stat(file.fd(), stat) : file.fd();
    if (error != 0)
        return hearth::error(Code::io, "{}", base::describe("Cannot read", path, error));
    char header[k_header_size];
    if (stat.type != base::FileType::file || base::read_exactly(files, file.fd(), header, sizeof header, 0) != 0 ||
        std::string_view(header, k_archive_magic.size()) != k_archive_magic)
        return hearth::error(Code::corrupt, "{} is not a Hearth export. Make one with `hearth export FILE`.", path);
    base::WireReader reader(as_bytes({header + k_archive_magic.size(), 2}));
    if (const auto version = reader.number<std::uint16_t>(); version != k_archive_version)
        return hearth::error(
            Code::other_version,
            "{} is an export of version {}; this Hearth reads version {}. Use the Hearth that wrote it.", path, version,
            k_archive_version);
    ArchiveReader archive(files, path, std::move(file), stat.size);
    archive.m_at = k_header_size;
    return archive;
}

Result<std::optional<Bytes>> ArchiveReader::next()
{
    char head[k_record_head];
    if (base::read_exactly(*m_files, m_file.fd(), head, sizeof head, m_at) != 0)
        return cut();
    base::WireReader reader(as_bytes({head, sizeof head}));
    const char mark = reader.number<char>();
    const auto number = reader.number<std::uint64_t>();
    if (mark == k_end_mark && number == m_count)
        return std::optional<Bytes>{};
    if (mark != k_entry_mark || number > k_max_entry_bytes || number > m_size - m_at)
        return cut();
    int error = 0;
    Bytes entry = base::read_part(*m_files, m_file.fd(), m_at + k_record_head, number, error);
    if (error != 0)
        return cut();
    m_at += k_record_head + number;
    ++m_count;
    return std::optional<Bytes>(std::move(entry));
}

}  // namespace hearth::format
