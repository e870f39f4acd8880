// fmt's compiled part, from its headers. Debian ships it as a shared library only, and a drop-in must not bring shared
// libraries into other programs. What fmt declares as compiled elsewhere is compiled here.

#include <fmt/format-inl.h>

#if FMT_VERSION < 90000 || FMT_VERSION >= 120000
#error "fmt 9, 10 or 11 is needed: what its library holds is listed here by hand. Compare with its src/format.cc."
#endif

FMT_BEGIN_NAMESPACE
namespace detail {

#if FMT_VERSION < 110000
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API std::locale locale_ref::get<std::locale>() const;
#else
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
#endif
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
#if FMT_VERSION < 100000
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
#elif FMT_VERSION < 110000
template FMT_API void vformat_to(buffer<char>&, string_view, typename vformat_args<>::type, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
