#pragma once

#include "base/digest.hpp"

#include <memory>

namespace hearth::base {

// The SHA-256 of bytes that come a part at a time.
class Sha256Stream {
public:
    Sha256Stream();
    ~Sha256Stream();
    Sha256Stream(const Sha256Stream&) = delete;
    Sha256Stream& operator=(const Sha256Stream&) = delete;

    void add(ByteView bytes);
    // Of everything that was added. Call it once, and last.
    Sha256 finish();

private:
    struct State;
    const std::unique_ptr<State> m_state;
};

}  // namespace hearth::base
