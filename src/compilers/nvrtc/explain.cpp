#include "hearth/explain.hpp"

#include "base/error.hpp"
#include "compilers/nvrtc/headers_section.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "hearth/nvrtc.hpp"

#include <algorithm>

namespace hearth::nvrtc {

Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options)
{
    const Result<Plan> plan = make_plan(cache, program, options);
    HEARTH_TRY(plan);
    if (!plan->why_past_the_cache.empty()) {
        Explanation past;
        past.key = plan->request.key();
        past.why_past_the_cache = plan->why_past_the_cache;
        return past;
    }
    Explanation explanation = hearth::explain(cache, plan->request);
    const auto headers = std::find_if(explanation.differences.begin(), explanation.differences.end(),
                                      [](const Difference& difference) { return difference.field == "headers"; });
    if (!explanation.nearest || headers == explanation.differences.end())
        return explanation;
    // The request has one field for all headers. The list beside the result tells which of them differ.
    const Lookup nearest = cache.peek(explanation.nearest->key);
    if (!nearest)
        return explanation;
    std::vector<Difference> which = compare_headers(headers_section(plan->manifest), nearest->text(k_headers_section));
    if (!which.empty()) {
        explanation.differences.erase(headers);
        explanation.differences.insert(explanation.differences.end(), which.begin(), which.end());
    }
    return explanation;
}

}  // namespace hearth::nvrtc
