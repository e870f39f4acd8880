#pragma once

#include "compilers/ptx/stepped_link.hpp"
#include "hearth/cache.hpp"
#include "process_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::proxy {

using ptx::k_link_internal;
using ptx::k_link_null_input;
using ptx::k_link_success;

// What a program's nvJitLinkHandle points to: its link, and what can be asked after the last call.
// Thread safety: as nvJitLink's own, one thread at a time.
class Link {
public:
    Link();
    ~Link() { m_alive = 0; }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // The link behind a handle; null if the handle is not ours.
    static Link* of(void* handle);

    // Each returns the real library's status. After create(), is_there() says whether there is a handle.
    int create(std::vector<std::string> options);
    int add_data(int type, const void* data, std::size_t size, const char* name);
    int add_file(int type, const char* path);
    int complete();
    bool is_there() const;

    // What a program can ask for: a section's status and bytes.
    int size_of(const char* section, std::size_t* size) const;
    int get(const char* section, void* out) const;

private:
    static constexpr std::uint64_t k_alive = 0x6865'6172'7468'6a6c;

    int step(ptx::SteppedLink::Call call);
    std::optional<Result<compilers::Answer>> ask_the_cache();
    int refuse(const std::string& why);
    void count(const Event& event);

    std::uint64_t m_alive = k_alive;
    ptx::SteppedLink m_link;
    std::shared_ptr<const Artifact> m_seen;
    std::string m_why_refused;  // compiling is forbidden; it has been noted
    Event m_event;              // all steps since the last note, as one compile
};

// What nvJitLinkVersion returns, remembered in the cache.
int link_version(unsigned* major, unsigned* minor);

}  // namespace hearth::proxy
