#pragma once

#include "remote/breaker.hpp"
#include "remote/remote_store.hpp"

// Several servers that share what they hold, as one store: replicas, or front ends of the same storage.
//
//   which one   Every name has an order of the endpoints of its own, the same in every process (rendezvous hashing):
//   each
//               gets its share of the names, and always the same ones, which is good for its cache. When an endpoint
//               goes, only its own names move.
//   failure     Each endpoint has a breaker. One that cannot be reached, breaks off or says that it cannot serve gives
//               the name to the next in its order, within the same call. An endpoint may take half of the time that is
//               left, so that one that hangs leaves some to the next. What was refused, or is not there, is an answer.
//   all rest    Where no other answers, those that are left alone are asked all the same: the tier has a breaker over
//   the
//               whole, and has let this call through.
//
// Whoever is asked again may find that the first one did it, and only its answer was lost. For most requests that is
// the same; a lease that is taken may then be our own, which its bytes tell.

namespace hearth::remotes {

struct Endpoint {
    std::string address;  // "10.0.0.1:80", for sentences; its name in the order
    std::unique_ptr<RemoteStore> store;
};

// Thread safety, failure: as RemoteStore. Ownership: of the stores. Cost: that of one store; a batch asks the endpoints
// one after the other.
class BalancedStore final : public RemoteStore {
public:
    BalancedStore(std::vector<Endpoint> endpoints, const StoreOptions& options,
                  Breaker::Clock clock = Breaker::wall_ns);
    ~BalancedStore() override;
    BalancedStore(const BalancedStore&) = delete;
    BalancedStore& operator=(const BalancedStore&) = delete;

    std::vector<Result<std::optional<Bytes>>> get_many(std::span<const std::string> names,
                                                       SteadyTime deadline) override;
    std::vector<Result<bool>> has_many(std::span<const std::string> names, SteadyTime deadline) override;
    std::vector<Status> put_many(std::span<const Object> objects, SteadyTime deadline) override;
    Result<bool> remove(std::string_view name, SteadyTime deadline) override;
    Status list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                SteadyTime deadline) override;
    Result<bool> put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                               SteadyTime deadline) override;
    Result<bool> renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                       SteadyTime deadline) override;
    Result<bool> remove_if(std::string_view name, ByteView bytes, SteadyTime deadline) override;
    bool is_partly_down() override;
    void after_fork() noexcept override;
    // Asks each of them: "nginx/1.22.1 at 10.0.0.1:80; 10.0.0.2:80 (down)".
    std::string description() override;

private:
    class Server;
    class Call;
    using Which = std::span<const std::size_t>;  // of the names of a call
    template <class Answer>
    using Ask = std::function<std::vector<Answer>(RemoteStore& store, Which which, SteadyTime deadline)>;

    // Asks for each name the first endpoint that it can, and the next one as long as one fails.
    template <class Answer>
    std::vector<Answer> ask_many(const std::vector<std::string_view>& names, SteadyTime deadline,
                                 const Ask<Answer>& ask);
    template <class Answer>
    Answer ask_one(std::string_view name, SteadyTime deadline,
                   const std::function<Answer(RemoteStore& store, SteadyTime deadline)>& ask);
    // Tells its breaker how it answered; null: well.
    void settle(Server& server, const Error* error);

    std::vector<std::unique_ptr<Server>> m_servers;
    const std::function<void(const std::string&)> m_tell;
};

}  // namespace hearth::remotes
