#pragma once

#include "carry/capture.hpp"

#include <functional>
#include <unordered_map>

namespace hearth::cli::carry {

// Puts contents into packs: each content once, small ones together. A cache of Triton has thousands of files of a few
// KiB, and each entry costs a file on the disk and perhaps a request to a server. Where a pack ends is decided by the
// contents themselves, so that a new file changes the pack it falls into and leaves the others as they were.
// Cost: holds one pack in memory.
class Packer {
public:
    // `store` is given each pack once. Empty: contents are only told apart, and there are no packs.
    using Store = std::function<Status(const Pack&, Bytes)>;
    explicit Packer(Store store = {}) : m_store(std::move(store)) {}

    // The number of the piece that has this content, which is not empty.
    Result<std::uint32_t> add(const Bytes& content);
    // Stores the last pack. Then packs and pieces are complete.
    Status finish();

    std::vector<Pack> packs;
    std::vector<Piece> pieces;

private:
    Status close_pack();

    Store m_store;
    std::unordered_map<Key, std::uint32_t> m_known;
    std::string m_open;
    std::vector<std::uint32_t> m_in_open;
};

}  // namespace hearth::cli::carry
