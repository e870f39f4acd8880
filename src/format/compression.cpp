#include "format/compression.hpp"

#include "base/wire.hpp"

#include <memory>
#include <vector>
#include <zstd.h>

namespace hearth::format {

namespace {

constexpr std::size_t k_worth_trying = 128;

struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
struct FreeCompressor {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

bool is_skippable(ByteView frame)
{
    return base::WireReader(frame).number<std::uint32_t>() != ZSTD_MAGICNUMBER;
}

}  // namespace

std::optional<Bytes> compress(ByteView raw, int level)
{
    if (level <= 0 || raw.size() < k_worth_trying)
        return std::nullopt;
    const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
    if (!context)
        return std::nullopt;
    // Room for what is worth keeping and no more: zstd stops by itself when the result would be larger.
    std::vector<std::byte> target(raw.size() - raw.size() / 10);
    const std::size_t size =
        ZSTD_compressCCtx(context.get(), target.data(), target.size(), raw.data(), raw.size(), level);
    if (ZSTD_isError(size))
        return std::nullopt;
    return Bytes::copy_of(ByteView(target).first(size));
}

std::optional<Bytes> decompress(ByteView compressed, std::uint64_t raw_size)
{
    // Two of the values this returns are no sizes. And zstd would decompress a second frame, or skip one, unasked.
    if (ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != raw_size ||
        raw_size >= ZSTD_CONTENTSIZE_ERROR || is_skippable(compressed) ||
        ZSTD_findFrameCompressedSize(compressed.data(), compressed.size()) != compressed.size())
        return std::nullopt;
    // Kept per thread: creating one costs more than decompressing a small section.
    thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> t_context(ZSTD_createDCtx());
    if (!t_context)
        return std::nullopt;
    bool right = false;
    Bytes raw = Bytes::make(raw_size, [&](std::span<std::byte> target) {
        right = ZSTD_decompressDCtx(t_context.get(), target.data(), target.size(), compressed.data(),
                                    compressed.size()) == raw_size;
    });
    if (!right)
        return std::nullopt;
    return raw;
}

}  // namespace hearth::format
