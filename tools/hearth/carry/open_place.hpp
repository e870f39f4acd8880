#pragma once

#include "hearth/result.hpp"
#include "process/descriptor.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hearth::cli::carry {

enum class IfMissing : unsigned char { fail, make };

// The directory of a place, open. All reading and writing is done from its descriptor: whatever is put in the place of
// its path meanwhile is not met. Folders that were made for it are removed again with this if they are still empty.
//
// A tool's directory may lie in /tmp, where a neighbour can make it first, or put a link to somebody's keys there. So
// its path is opened name by name, without the system following links:
// - The directory itself is no link.
// - A link on the way is followed only if nobody but this user and root may have made it: it is owned by one of them,
//   in a folder where nobody else can replace it.
// - It belongs to this user, or to root, and not everybody may write it. If others may write in a folder on the way, as
//   in /tmp, it belongs to this user, and nobody else may write it.
class OpenPlace {
public:
    // `directory`: absolute. Fails with a sentence; then nothing was made.
    static Result<OpenPlace> open(const std::string& directory, IfMissing if_missing);
    OpenPlace(OpenPlace&&) = default;
    OpenPlace& operator=(OpenPlace&&) = delete;
    ~OpenPlace();

    int get() const { return m_top.get(); }
    const std::string& directory() const { return m_directory; }
    // Whether it lies in a directory into which something was restored without a trusted signature, as of now.
    bool is_below_mark() const;

private:
    explicit OpenPlace(std::string directory) : m_directory(std::move(directory)) {}
    Status walk(IfMissing if_missing);
    Result<std::string> follow(int folder, const std::string& name) const;
    Status check_owner() const;

    std::string m_directory;
    Descriptor m_top{-1};
    bool m_others_write_above = false;
    std::vector<std::pair<Descriptor, std::string>> m_made;  // outermost first
};

// What is below a folder that has this mark came from a restore without a trusted signature, or may have been made from
// it. It is in no capture, and goes with the directory.
bool has_unsigned_mark(int folder, const std::string& below = ".");
// False, with errno: it could not be made.
bool set_unsigned_mark(int folder);

}  // namespace hearth::cli::carry
