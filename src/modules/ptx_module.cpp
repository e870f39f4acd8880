#include "modules/ptx_module.hpp"

#include "base/digest_stream.hpp"
#include "base/wire.hpp"
#include "modules/loaded_function.hpp"

namespace hearth::cuda {

Key module_key(const PtxSource& source)
{
    // A member that is left out here does not compile.
    const auto& [text_of_rest, name, options, target, input] = source.rest;
    const auto& [linker, library, deadline] = source.options;
    static_cast<void>(text_of_rest);
    static_cast<void>(deadline);
    base::WireWriter head;
    head.out().reserve(128);
    head.raw("hearth ptx module\n");
    head.number(static_cast<std::uint8_t>(input));
    head.number(static_cast<std::uint8_t>(linker));
    for (const std::string_view text : {std::string_view(name), std::string_view(target), std::string_view(library)})
        head.prefixed<std::uint64_t>(text);
    head.number(std::uint64_t{options.size()});
    for (const std::string& option : options)
        head.prefixed<std::uint64_t>(option);
    base::Sha256Stream digest;
    digest.add(head.view());
    digest.add(as_bytes(source.text));  // the rest of the stream, so that its length needs no telling
    return Key{digest.finish()};
}

Result<ModuleLease> load_ptx(ModuleTable& table, const Place& place, Cache& cache, const PtxSource& source)
{
    const Key key = module_key(source);
    if (std::optional<ModuleLease> loaded = table.find(place.context.id, key))
        return *std::move(loaded);
    ptx::Program program = source.rest;
    program.text = source.text;
    HEARTH_TRY_SET(LoadedHere loaded, load_here(table, place, cache, [&](Cache& through) {
                       return compile_here(*place.driver, through, program, source.options);
                   }));
    table.also_by(loaded.module, key);
    return std::move(loaded.module);
}

namespace {

Result<Loaded> lease_here(Cache& cache, const PtxSource& source, std::string_view name)
{
    HEARTH_TRY_SET(const Place place, place_here());
    HEARTH_TRY_SET(ModuleLease module, load_ptx(ModuleTable::of_process(), place, cache, source));
    HEARTH_TRY_SET(FunctionLease function, LoadedFunction::find(*place.driver, std::move(module), name, name));
    return LoadedFunction::handle(std::move(function));
}

}  // namespace

Result<Loaded> get_or_load(Cache& cache, std::string_view ptx, std::string_view name)
{
    return lease_here(cache, {ptx, {}, {}}, name);
}

Result<Loaded> get_or_load(Cache& cache, const ptx::Program& program, std::string_view name,
                           const ptx::CompileOptions& options)
{
    return lease_here(cache, {program.text, program, options}, name);
}

}  // namespace hearth::cuda
