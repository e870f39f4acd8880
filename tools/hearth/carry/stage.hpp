#pragma once

#include "carry/write_tree.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hearth::cli::carry {

// The mode that an item gets: whoever restores a folder has to write into it.
std::uint16_t restored_mode(const Item& item);

// The folder in which a restore is prepared. It is removed when this is destroyed, with all that is still in it.
class Stage {
public:
    // `top` is the open directory, which outlives this.
    Stage(const Capture& capture, const std::string& directory, int top);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    // Writes those of the capture's items that are needed, completely. On an error nothing has happened to the
    // directory.
    Status prepare(const std::vector<bool>& needed, const ReadPack& read_pack, const Progress& progress);
    // Takes no space on the disk, and moves whole folders where it can.
    Status move_into_place(Existing existing);
    // Gives a file in the directory the item's time and mode, or a folder its mode.
    Status touch(const Item& item) const;

    std::uint64_t files() const { return m_files; }
    std::uint64_t bytes() const { return m_bytes; }

private:
    struct Part {
        std::size_t item = 0;
        std::uint64_t offset = 0;  // in the file
    };

    Status make_items(const std::vector<bool>& needed);
    Status write_pack(const Pack& pack, const std::vector<std::uint32_t>& pieces,
                      const std::vector<std::vector<Part>>& parts_of, const ReadPack& read_pack,
                      const std::function<bool()>& goes_on);
    Status write_part(const Part& part, ByteView content) const;
    Status finish_items(const std::vector<bool>& needed);
    Status merge(int from, int to, const std::string& path, Existing existing) const;
    Status move_folder(int from, int to, const std::string& name, const std::string& path, Existing existing) const;
    Error cannot_write(const std::string& path, int error) const;
    static Error stopped();
    Error cannot_move(const std::string& path, int error) const;

    const Capture& m_capture;
    std::string m_directory;
    int m_top;
    int m_stage = -1;
    std::uint64_t m_files = 0;
    std::uint64_t m_bytes = 0;
};

}  // namespace hearth::cli::carry
