#pragma once

#include "hearth/bytes.hpp"
#include "hearth/clock.hpp"
#include "hearth/key.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hearth {

// One named output of a compile: "cubin", "ptx", "log", "names", or whatever the compile function calls it.
struct Section {
    std::string name;
    Bytes data;

    friend bool operator==(const Section&, const Section&) = default;
};

// What people see of an entry. Nothing here decides a lookup; that is the key's work alone.
struct Metadata {
    std::string label{};                 // the name `hearth ls` shows
    std::string compiler{};              // its name and version
    std::string target{};                // sm_90, a device, a triple
    std::vector<std::string> options{};  // as the compiler was given them, "***" for secrets
    // The version of Hearth that stored it first; set on insert when left empty. Entries of 0.1 have none. It is no
    // part of the value.
    std::string writer{};

    friend bool operator==(const Metadata& a, const Metadata& b)
    {
        return std::tie(a.label, a.compiler, a.target, a.options) == std::tie(b.label, b.compiler, b.target, b.options);
    }
};

// Where an artifact came from. Whoever builds one leaves it unknown.
enum class Origin : std::uint8_t {
    unknown,    // not inserted yet: not signed
    here,       // this process inserted it: signed, if there is a key for it
    elsewhere,  // it was read from a store: never signed here, nor is a copy of it that was changed
    trusted,    // it was read from a store with a signature by a trusted key: may be signed here too
};

// The whole result of a compile: every output, the log, the return code and what it cost.
// A failed compile is an artifact too: its status is not 0 and its sections hold the log.
struct Artifact {
    std::vector<Section> sections;
    Metadata metadata;
    Bytes request;                     // Request::encoding(), or empty when only the key is known
    std::int32_t status = 0;           // the compiler's return code; 0 is success
    std::chrono::nanoseconds cost{0};  // how long the compile took
    WallTime created{};                // set on insert when left empty
    WallTime expires{};                // never, when left empty
    // Decides whether it may be signed here. A copy keeps it. It is no part of the value, and is kept nowhere.
    Origin origin = Origin::unknown;

    Artifact() = default;
    // One unnamed section: for a compile function whose result is plain bytes.
    explicit Artifact(Bytes data) { sections.push_back({"", std::move(data)}); }
    explicit Artifact(std::string_view text) : Artifact(Bytes::copy_of(text)) {}

    bool failed() const noexcept { return status != 0; }

    const Section* find(std::string_view name) const noexcept
    {
        for (const Section& section : sections)
            if (section.name == name)
                return &section;
        return nullptr;
    }

    // The named section's bytes, or none. Without a name: the first section's.
    ByteView bytes(std::string_view name) const noexcept
    {
        const Section* section = find(name);
        return section ? section->data.view() : ByteView{};
    }
    ByteView bytes() const noexcept { return sections.empty() ? ByteView{} : sections.front().data.view(); }
    std::string_view text(std::string_view name) const noexcept { return as_text(bytes(name)); }
    std::string_view text() const noexcept { return as_text(bytes()); }

    // Bytes of all sections.
    std::uint64_t size() const noexcept
    {
        std::uint64_t total = 0;
        for (const Section& section : sections)
            total += section.data.size();
        return total;
    }

    friend bool operator==(const Artifact& a, const Artifact& b)
    {
        const auto value = [](const Artifact& x) {
            return std::tie(x.sections, x.metadata, x.request, x.status, x.cost, x.created, x.expires);
        };
        return value(a) == value(b);
    }
};

}  // namespace hearth
