#include "compilers/common/given_text.hpp"

#include "base/error.hpp"
#include "gpu/cuda/cuda_driver.hpp"

namespace hearth::compilers {

Status check_text(std::string_view what, std::string_view text)
{
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos)
        return {};
    return error(Code::invalid_argument,
                 "{} has a zero byte at offset {}, where a compiler would stop reading. Remove it.", what, zero);
}

Result<std::string> named_target(const std::string& target, const std::string& in_options)
{
    if (!target.empty() && !in_options.empty())
        return error(Code::invalid_argument,
                     "The target is given twice: as \"{}\" and with the option -arch={}. Leave one out.", target,
                     in_options);
    HEARTH_TRY(check_text("The target", target));
    return target == "device" ? gpu::target_of_device(0) : target;
}

}  // namespace hearth::compilers
