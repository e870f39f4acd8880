#pragma once

#include "hearth/cache.hpp"
#include "process_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::proxy {

// The values of nvJitLinkResult that are returned here.
enum LinkStatus : int { k_link_success = 0, k_link_internal = 6, k_link_null_input = 10 };

// What a program's nvJitLinkHandle points to: the calls so far, and what can be asked after the last of them.
//
// Every call that changes something is a step with a key of its own, built from the key of the step before it and the
// call's arguments. Its entry holds all that the program can then ask for. So each answer is what the real library gave
// at this point, also for a refused input, and a link that was done before never loads the library.
// Thread safety: as nvJitLink's own, one thread at a time.
class Link {
public:
    Link() = default;
    ~Link();
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

    enum class Kind : std::uint8_t { create, data, file, complete };
    struct Call {
        Kind kind = Kind::create;
        std::vector<std::string> options{};
        int type = 0;
        Bytes data{};          // with a zero after it: nvJitLink reads PTX up to a zero, whatever size it is given
        std::size_t size = 0;  // without the zero
        std::string name{};
        bool has_name = true;
        bool has_data = true;

        void hold(ByteView bytes);
    };

    int step(Call call);
    // Repeats in the real library the calls that it has not had yet, and returns the status of the last one.
    int catch_up();
    int refuse(const std::string& why);
    void count(const Event& event);
    Request request_of(const Call& call, const std::string& build) const;
    Result<Artifact> make_step();
    int apply(const Call& call);
    Artifact seen(int status) const;

    std::uint64_t m_alive = k_alive;
    std::vector<Call> m_calls;
    std::size_t m_applied = 0;  // how many calls the real library has had
    Key m_key;                  // of the last step
    std::shared_ptr<const Artifact> m_seen;
    void* m_real = nullptr;
    int m_real_status = k_link_internal;  // of the last call in the real library
    bool m_past_cache = false;
    bool m_is_refused = false;  // because compiling is forbidden; it has been noted
    Event m_event;              // all steps since the last note, as one compile
};

// What nvJitLinkVersion returns, remembered in the cache.
int link_version(unsigned* major, unsigned* minor);

}  // namespace hearth::proxy
