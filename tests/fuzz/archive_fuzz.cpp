#include "format/archive.hpp"
#include "fuzz/fuzz.hpp"
#include "support/single_file.hpp"

#include <optional>
#include <string>

namespace {

using namespace hearth;

void try_input(std::string_view input)
{
    const std::string bytes(input);
    test::SingleFile file(bytes);
    Result<format::ArchiveReader> archive = format::ArchiveReader::open(file, "input");
    if (!archive.ok()) {
        fuzz::require(archive.error().message.find("input") != std::string::npos, "an error names the file");
        return;
    }

    test::SingleFile copy;
    format::ArchiveWriter writer(copy, "copy");
    bool whole = false;
    for (std::uint64_t before = archive->position();; before = archive->position()) {
        const Result<std::optional<Bytes>> next = archive->next();
        whole = next.ok() && !*next;
        if (!next.ok() || whole)
            break;
        fuzz::require(archive->position() > before && archive->position() <= bytes.size(),
                      "the reading goes on, within the file");
        fuzz::require(writer.add(**next).ok(), "an entry that was read can be written");
    }
    if (whole) {
        static constexpr std::size_t k_header_bytes = 16;
        fuzz::require(writer.finish().ok() &&
                          bytes.substr(k_header_bytes).starts_with(copy.content().substr(k_header_bytes)),
                      "an archive that is read to its end is written again as it was");
    }
}

const fuzz::Added k_added({"archive", 600'000, try_input});

}  // namespace
