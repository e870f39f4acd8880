#include "rival_stores.hpp"

#include <filesystem>

#ifdef HEARTH_HAVE_SQLITE3
#include <sqlite3.h>
#endif
#ifdef HEARTH_HAVE_LMDB
#include <lmdb.h>
#endif

namespace hearth::bench {

namespace {

#ifdef HEARTH_HAVE_SQLITE3
// Write-ahead log, no sync, prepared statements: as fast as SQLite is asked to be for a cache.
class Sqlite final : public RivalStore {
public:
    explicit Sqlite(const std::string& path)
    {
        sqlite3_open(path.c_str(), &m_database);
        sqlite3_exec(m_database,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
                     "CREATE TABLE entries(key BLOB PRIMARY KEY, entry BLOB) WITHOUT ROWID;",
                     nullptr, nullptr, nullptr);
        sqlite3_prepare_v2(m_database, "INSERT OR REPLACE INTO entries VALUES(?,?)", -1, &m_put, nullptr);
        sqlite3_prepare_v2(m_database, "SELECT entry FROM entries WHERE key=?", -1, &m_get, nullptr);
    }
    ~Sqlite() override
    {
        sqlite3_finalize(m_put);
        sqlite3_finalize(m_get);
        sqlite3_close(m_database);
    }
    std::string name() const override { return "SQLite"; }
    void put(const Key& key, ByteView entry) override
    {
        sqlite3_bind_blob(m_put, 1, key.digest.data(), static_cast<int>(key.digest.size()), SQLITE_STATIC);
        sqlite3_bind_blob(m_put, 2, entry.data(), static_cast<int>(entry.size()), SQLITE_STATIC);
        sqlite3_step(m_put);
        sqlite3_reset(m_put);
    }
    Bytes get(const Key& key) override
    {
        Bytes found;
        sqlite3_bind_blob(m_get, 1, key.digest.data(), static_cast<int>(key.digest.size()), SQLITE_STATIC);
        if (sqlite3_step(m_get) == SQLITE_ROW)
            found = Bytes::copy_of(ByteView(static_cast<const std::byte*>(sqlite3_column_blob(m_get, 0)),
                                            static_cast<std::size_t>(sqlite3_column_bytes(m_get, 0))));
        sqlite3_reset(m_get);
        return found;
    }

private:
    sqlite3* m_database = nullptr;
    sqlite3_stmt* m_put = nullptr;
    sqlite3_stmt* m_get = nullptr;
};
#endif

#ifdef HEARTH_HAVE_LMDB
class Lmdb final : public RivalStore {
public:
    explicit Lmdb(const std::string& directory)
    {
        std::filesystem::create_directories(directory);
        mdb_env_create(&m_environment);
        mdb_env_set_mapsize(m_environment, std::size_t{1} << 32U);
        mdb_env_open(m_environment, directory.c_str(), MDB_NOSYNC, 0600);
        MDB_txn* transaction = nullptr;
        mdb_txn_begin(m_environment, nullptr, 0, &transaction);
        mdb_dbi_open(transaction, nullptr, 0, &m_database);
        mdb_txn_commit(transaction);
    }
    ~Lmdb() override { mdb_env_close(m_environment); }
    std::string name() const override { return "LMDB"; }
    void put(const Key& key, ByteView entry) override
    {
        MDB_txn* transaction = nullptr;
        mdb_txn_begin(m_environment, nullptr, 0, &transaction);
        MDB_val name = value_of(std::as_bytes(std::span(key.digest)));
        MDB_val data = value_of(entry);
        mdb_put(transaction, m_database, &name, &data, 0);
        mdb_txn_commit(transaction);
    }
    Bytes get(const Key& key) override
    {
        Bytes found;
        MDB_txn* transaction = nullptr;
        mdb_txn_begin(m_environment, nullptr, MDB_RDONLY, &transaction);
        MDB_val name = value_of(std::as_bytes(std::span(key.digest)));
        MDB_val data{};
        if (mdb_get(transaction, m_database, &name, &data) == 0)
            found = Bytes::copy_of(ByteView(static_cast<const std::byte*>(data.mv_data), data.mv_size));
        mdb_txn_abort(transaction);
        return found;
    }

private:
    static MDB_val value_of(ByteView bytes) { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }

    MDB_env* m_environment = nullptr;
    MDB_dbi m_database = 0;
};
#endif

}  // namespace

std::vector<std::unique_ptr<RivalStore>> rival_stores([[maybe_unused]] const std::string& directory)
{
    std::vector<std::unique_ptr<RivalStore>> stores;
    std::filesystem::create_directories(directory);
#ifdef HEARTH_HAVE_SQLITE3
    stores.push_back(std::make_unique<Sqlite>(directory + "/entries.sqlite"));
#endif
#ifdef HEARTH_HAVE_LMDB
    stores.push_back(std::make_unique<Lmdb>(directory + "/lmdb"));
#endif
    return stores;
}

}  // namespace hearth::bench
