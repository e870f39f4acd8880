#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace demo {

struct Toolchain;

// The SHA-256 of files' contents, in hexadecimal, each read once for as long as nothing about it changes.
// Not thread-safe. Cost: one stat a question; a file is read and hashed the first time and when it changed.
class FileDigests {
public:
    // Empty when there is no such file.
    const std::string& of(const std::string& path);

private:
    // A file that was rewritten differs in one of these, whatever was done to its modification time.
    struct Signature {
        std::uint64_t device = 0, inode = 0, size = 0, modified = 0, changed = 0;
        friend bool operator==(const Signature&, const Signature&) = default;
    };
    struct Known {
        Signature signature;
        std::string digest;
    };
    std::unordered_map<std::string, Known> m_known;
};

// Every file a compile reads, with its digest, and every place it looks for one in vain. When nothing in here has
// changed, the compiler would read the same bytes again, and need not be asked.
class Inputs {
public:
    // Asks the compiler (-M) which files `source` reads. The places without a file come from the names in those files'
    // include directives, taken or not, and __has_include: more than the compiler tries, so nothing is overlooked.
    static hearth::Result<Inputs> list(const Toolchain& toolchain, const std::string& source, FileDigests& digests);

    // From text(), as an earlier process left it.
    explicit Inputs(std::string text) : m_text(std::move(text)) {}

    // A line each: digest and path; "absent" and path.
    const std::string& text() const { return m_text; }

    bool unchanged(FileDigests& digests) const;

private:
    std::string m_text;
};

}  // namespace demo
