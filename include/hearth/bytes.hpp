#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) noexcept
{
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) noexcept
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Immutable bytes that are cheap to copy: copies and slices share one buffer.
// Thread safety: as an int; the shared bytes themselves never change once made.
// Ownership: the buffer lives as long as its last copy or slice.
// Cost: one allocation to make, none to copy or slice; the buffer is not zeroed first.
class Bytes {
public:
    Bytes() = default;

    static Bytes copy_of(ByteView source)
    {
        return make(source.size(), [&](std::span<std::byte> target) {
            if (!source.empty())
                std::memcpy(target.data(), source.data(), source.size());
        });
    }

    static Bytes copy_of(std::string_view text) { return copy_of(as_bytes(text)); }

    // Takes the vector's buffer over, without a copy.
    static Bytes adopt(std::vector<std::byte>&& source)
    {
        auto owner = std::make_shared<std::vector<std::byte>>(std::move(source));
        const ByteView view{*owner};
        const std::size_t kept = owner->capacity();
        return {std::move(owner), kept, view};
    }

    // Allocates `size` bytes and lets `fill` write all of them before anyone else can see them.
    template <class Fill>
    static Bytes make(std::size_t size, Fill&& fill)
    {
        auto buffer = std::make_shared_for_overwrite<std::byte[]>(size);
        std::forward<Fill>(fill)(std::span<std::byte>{buffer.get(), size});
        const ByteView view{buffer.get(), size};
        return {std::move(buffer), size, view};
    }

    ByteView view() const noexcept { return m_view; }
    operator ByteView() const noexcept { return m_view; }
    std::string_view text() const noexcept { return as_text(m_view); }
    const std::byte* data() const noexcept { return m_view.data(); }
    std::size_t size() const noexcept { return m_view.size(); }
    bool empty() const noexcept { return m_view.empty(); }

    // The part [offset, offset + length), sharing this buffer. The caller keeps it within size().
    Bytes slice(std::size_t offset, std::size_t length) const
    {
        return {m_owner, m_buffer_size, m_view.subspan(offset, length)};
    }

    // The whole buffer that this keeps in memory: what tells it from others, and its size.
    const void* buffer() const noexcept { return m_owner.get(); }
    std::size_t buffer_size() const noexcept { return m_buffer_size; }

    friend bool operator==(const Bytes& a, const Bytes& b) noexcept { return a.text() == b.text(); }

private:
    Bytes(std::shared_ptr<const void> owner, std::size_t buffer_size, ByteView view)
        : m_owner(std::move(owner)), m_buffer_size(buffer_size), m_view(view)
    {
    }

    std::shared_ptr<const void> m_owner;
    std::size_t m_buffer_size = 0;
    ByteView m_view;
};

inline namespace literals {

constexpr std::uint64_t operator""_KiB(unsigned long long n)
{
    return n << 10U;
}
constexpr std::uint64_t operator""_MiB(unsigned long long n)
{
    return n << 20U;
}
constexpr std::uint64_t operator""_GiB(unsigned long long n)
{
    return n << 30U;
}

}  // namespace literals

}  // namespace hearth
