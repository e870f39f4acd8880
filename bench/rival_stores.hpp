#pragma once

#include "hearth/bytes.hpp"
#include "hearth/key.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::bench {

// An embedded database holding the same encoded entries under the same keys.
class RivalStore {
public:
    virtual ~RivalStore() = default;
    virtual std::string name() const = 0;
    virtual void put(const Key& key, ByteView entry) = 0;
    virtual Bytes get(const Key& key) = 0;
};

// Those this build has: SQLite, LMDB. Each is opened when it is called for.
struct RivalKind {
    std::string row;  // in the names of rows
    std::unique_ptr<RivalStore> (*open)(const std::string& directory);
};
const std::vector<RivalKind>& rival_stores();

}  // namespace hearth::bench
