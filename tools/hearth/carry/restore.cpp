#include "carry/restore.hpp"

#include "base/error.hpp"

namespace hearth::cli::carry {

Result<Written> restore(Cache& cache, const Located& located, const std::string& directory, Existing existing,
                        const Progress& progress)
{
    if (const std::vector<Pack> missing = missing_packs(cache, located.capture); !missing.empty())
        return error(Code::not_found, "{}", describe_missing(located, missing));
    HEARTH_TRY_SET(const OpenPlace place, OpenPlace::open(directory, IfMissing::make));
    return write_tree(
        located.capture, place, {existing, located.is_trusted},
        [&](const Pack& pack) { return read_pack(cache, pack); }, progress);
}

}  // namespace hearth::cli::carry
