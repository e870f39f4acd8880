#pragma once

#include "hearth/artifact.hpp"
#include "hearth/key.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hearth::bench {

// A cache in memory that is measured. A row of keys is looked up at once, so that no call through a pointer is in the
// loop, and of each artifact its status is read.
struct Contender {
    std::string name;  // in words
    std::string row;   // in the names of rows
    std::function<void(std::span<const Key>)> find_all;
    std::function<void(const Key&, const std::shared_ptr<const Artifact>&)> put;
};

// Those that this build has: TBB's concurrent map and RocksDB's HyperClockCache; and a map with a lock.
std::vector<Contender> rival_caches(std::size_t entries);

}  // namespace hearth::bench
