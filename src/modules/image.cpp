#include "modules/image.hpp"

#include <array>
#include <cstring>
#include <vector>

namespace hearth::cuda {

namespace {

constexpr std::size_t k_alignment = 16;
constexpr std::size_t k_log_bytes = 16384;
constexpr int k_error_log = 5;  // CU_JIT_ERROR_LOG_BUFFER
constexpr int k_error_log_size = 6;

template <class T>
T number_at(ByteView image, std::size_t offset)
{
    T value{};
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}

// A table of `count` records of `size` bytes that starts at `offset` ends within the image.
bool lies_within(ByteView image, std::uint64_t offset, std::uint64_t count, std::uint64_t size)
{
    return offset <= image.size() && count * size <= image.size() - offset;
}

bool is_elf(ByteView image)
{
    return as_text(image).starts_with("\x7f"
                                      "ELF");
}

// CUBINs are 64-bit little-endian ELF files, and so are the machines they are loaded on.
bool is_whole_elf(ByteView image)
{
    constexpr std::size_t k_header = 64;
    if (image.size() < k_header)
        return false;
    const auto sections = number_at<std::uint64_t>(image, 40);
    const auto section_size = number_at<std::uint16_t>(image, 58);
    const auto section_count = number_at<std::uint16_t>(image, 60);
    if (!lies_within(image, number_at<std::uint64_t>(image, 32), number_at<std::uint16_t>(image, 56),
                     number_at<std::uint16_t>(image, 54)) ||
        !lies_within(image, sections, section_count, section_size) || section_size < k_header)
        return false;
    for (std::size_t i = 0; i < section_count; ++i) {
        const std::size_t at = sections + i * section_size;
        constexpr std::uint32_t k_no_bytes = 8;  // SHT_NOBITS
        if (number_at<std::uint32_t>(image, at + 4) != k_no_bytes &&
            !lies_within(image, number_at<std::uint64_t>(image, at + 24), 1, number_at<std::uint64_t>(image, at + 32)))
            return false;
    }
    return true;
}

// Magic, version, header size, then the size of what follows.
bool is_fat_binary(ByteView image)
{
    constexpr std::uint32_t k_magic = 0xba55ed50;
    return image.size() >= 16 && number_at<std::uint32_t>(image, 0) == k_magic;
}

bool is_whole_fat_binary(ByteView image)
{
    const std::uint64_t header = number_at<std::uint16_t>(image, 6);
    return lies_within(image, header, 1, number_at<std::uint64_t>(image, 8));
}

LoadedImage load_binary(const gpu::CudaDriver& driver, ByteView image)
{
    LoadedImage loaded;
    // A slice of an entry may start anywhere; the driver reads whole words.
    if (reinterpret_cast<std::uintptr_t>(image.data()) % k_alignment != 0) {
        const std::vector<std::byte> aligned(image.begin(), image.end());
        loaded.error = driver.load(&loaded.module, aligned.data());
    } else {
        loaded.error = driver.load(&loaded.module, image.data());
    }
    return loaded;
}

LoadedImage load_text(const gpu::CudaDriver& driver, ByteView image)
{
    LoadedImage loaded;
    const std::string text(as_text(image));  // with the zero that the driver looks for
    loaded.log.resize(k_log_bytes);
    std::array<int, 2> options{k_error_log, k_error_log_size};
    // The driver takes the size where it takes pointers.
    auto* const size = reinterpret_cast<void*>(std::uintptr_t{k_log_bytes});  // NOLINT(performance-no-int-to-ptr)
    std::array<void*, 2> values{loaded.log.data(), size};
    loaded.error =
        driver.load_with_options(&loaded.module, text.c_str(), options.size(), options.data(), values.data());
    loaded.log.resize(std::strlen(loaded.log.c_str()));
    return loaded;
}

}  // namespace

bool LoadedImage::rejected() const noexcept
{
    using namespace gpu::cuda;
    return error == k_invalid_image || error == k_no_binary_for_gpu || error == k_invalid_ptx ||
           error == k_unsupported_ptx || error == k_invalid_source;
}

LoadedImage load_image(const gpu::CudaDriver& driver, ByteView image)
{
    LoadedImage not_whole;
    not_whole.error = gpu::cuda::k_invalid_image;
    if (image.empty())
        return not_whole;
    if (is_elf(image))
        return is_whole_elf(image) ? load_binary(driver, image) : not_whole;
    if (is_fat_binary(image))
        return is_whole_fat_binary(image) ? load_binary(driver, image) : not_whole;
    return load_text(driver, image);
}

}  // namespace hearth::cuda
