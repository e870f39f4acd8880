// fmt's compiled part, made from its headers: Debian ships it as a shared library only, and a guest in other people's
// processes brings none along. Built with -fkeep-inline-functions, so that what the other files call is all here.

#define FMT_HEADER_ONLY
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::proxy {

std::string fmt_inside(double number, float small, long double large, const void* pointer, unsigned long long count,
                       long long large_count, std::string_view text, bool flag)
{
    return fmt::format("{} {} {} {} {:x} {} {:>{}} {} {:.3f} {:L} {:c}", number, small, large, pointer, count,
                       large_count, text, 8, flag, number, count, 'c');
}

}  // namespace hearth::proxy
