#pragma once

#include "hearth/artifact.hpp"
#include "hearth/result.hpp"

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace hearth {

// What is run on a miss.
using CompileFunction = std::function<Result<Artifact>()>;

// It may return an Artifact, Bytes, text, or a Result of one of these.
template <class F>
concept Compiles = std::invocable<F&> &&
    (std::convertible_to<std::invoke_result_t<F&>, Result<Artifact>> ||
     std::constructible_from<Artifact, std::invoke_result_t<F&>> || requires(std::invoke_result_t<F&> r) {
         {
             r.ok()
             } -> std::same_as<bool>;
         requires std::constructible_from<Artifact, decltype(std::move(r).value())>;
     });

namespace detail {

template <Compiles F>
CompileFunction as_compile_function(F&& compile)
{
    using R = std::invoke_result_t<F&>;
    if constexpr (std::convertible_to<R, Result<Artifact>>)
        return CompileFunction(std::forward<F>(compile));
    else if constexpr (std::constructible_from<Artifact, R>)
        return [compile = std::forward<F>(compile)]() mutable -> Result<Artifact> { return Artifact(compile()); };
    else
        return [compile = std::forward<F>(compile)]() mutable -> Result<Artifact> {
            auto compiled = compile();
            if (!compiled.ok())
                return compiled.error();
            return Artifact(std::move(compiled).value());
        };
}

}  // namespace detail

}  // namespace hearth
