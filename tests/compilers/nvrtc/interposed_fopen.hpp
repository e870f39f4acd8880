#pragma once

#include <functional>
#include <string>

namespace hearth::test {

// While this lives, the calls of fopen in this program and in the libraries it has loaded are told of: NVRTC reads
// headers with it. One at a time, and the compile in one thread. The program must export its symbols.
class FopenWatch {
public:
    using Before = std::function<void(const std::string& path)>;
    using After = std::function<void(const std::string& path, bool opened)>;

    FopenWatch(Before before, After after);
    ~FopenWatch();
    FopenWatch(const FopenWatch&) = delete;
    FopenWatch& operator=(const FopenWatch&) = delete;
};

}  // namespace hearth::test
