#include "rival_stores.hpp"

#include <cstring>
#include <filesystem>

#if HEARTH_HAVE_SQLITE3
#include <sqlite3.h>
#endif
#if HEARTH_HAVE_LMDB
#include <lmdb.h>
#endif

namespace hearth::bench {

namespace {

#if HEARTH_HAVE_SQLITE3
// Write-ahead log, no sync, mapped into memory, prepared statements, rows found by number: as fast as SQLite is asked
// to be for a cache. The number is the beginning of the key; all of it is compared.
class Sqlite final : public RivalStore {
public:
    explicit Sqlite(const std::string& directory)
    {
        std::filesystem::create_directories(directory);
        sqlite3_open((directory + "/entries.sqlite").c_str(), &m_database);
        sqlite3_exec(m_database,
                     "PRAGMA mmap_size=4294967296; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
                     "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, key BLOB, entry BLOB);",
                     nullptr, nullptr, nullptr);
        sqlite3_prepare_v2(m_database, "INSERT OR REPLACE INTO entries VALUES(?1,?2,?3)", -1, &m_put, nullptr);
        sqlite3_prepare_v2(m_database, "SELECT entry FROM entries WHERE id=?1 AND key=?2", -1, &m_get, nullptr);
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
        bind(m_put, key);
        sqlite3_bind_blob(m_put, 3, entry.data(), static_cast<int>(entry.size()), SQLITE_STATIC);
        sqlite3_step(m_put);
        sqlite3_reset(m_put);
    }
    Bytes get(const Key& key) override
    {
        Bytes found;
        bind(m_get, key);
        if (sqlite3_step(m_get) == SQLITE_ROW)
            found = Bytes::copy_of(ByteView(static_cast<const std::byte*>(sqlite3_column_blob(m_get, 0)),
                                            static_cast<std::size_t>(sqlite3_column_bytes(m_get, 0))));
        sqlite3_reset(m_get);
        return found;
    }

private:
    static void bind(sqlite3_stmt* statement, const Key& key)
    {
        sqlite3_int64 id = 0;
        std::memcpy(&id, key.digest.data(), sizeof id);
        sqlite3_bind_int64(statement, 1, id);
        sqlite3_bind_blob(statement, 2, key.digest.data(), static_cast<int>(key.digest.size()), SQLITE_STATIC);
    }

    sqlite3* m_database = nullptr;
    sqlite3_stmt* m_put = nullptr;
    sqlite3_stmt* m_get = nullptr;
};
#endif

#if HEARTH_HAVE_LMDB
// No sync, no read-ahead, and one read transaction that is renewed for each lookup.
class Lmdb final : public RivalStore {
public:
    explicit Lmdb(const std::string& directory)
    {
        std::filesystem::create_directories(directory);
        mdb_env_create(&m_environment);
        mdb_env_set_mapsize(m_environment, std::size_t{1} << 32U);
        mdb_env_open(m_environment, directory.c_str(), MDB_NOSYNC | MDB_NORDAHEAD | MDB_NOTLS, 0600);
        MDB_txn* transaction = nullptr;
        mdb_txn_begin(m_environment, nullptr, 0, &transaction);
        mdb_dbi_open(transaction, nullptr, 0, &m_database);
        mdb_txn_commit(transaction);
    }
    ~Lmdb() override
    {
        if (m_reading)
            mdb_txn_abort(m_reading);
        mdb_env_close(m_environment);
    }
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
        if (m_reading)
            mdb_txn_renew(m_reading);
        else
            mdb_txn_begin(m_environment, nullptr, MDB_RDONLY, &m_reading);
        MDB_val name = value_of(std::as_bytes(std::span(key.digest)));
        MDB_val data{};
        if (mdb_get(m_reading, m_database, &name, &data) == 0)
            found = Bytes::copy_of(ByteView(static_cast<const std::byte*>(data.mv_data), data.mv_size));
        mdb_txn_reset(m_reading);
        return found;
    }

private:
    static MDB_val value_of(ByteView bytes) { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }

    MDB_env* m_environment = nullptr;
    MDB_txn* m_reading = nullptr;
    MDB_dbi m_database = 0;
};
#endif

template <class Store>
std::unique_ptr<RivalStore> open(const std::string& directory)
{
    return std::make_unique<Store>(directory);
}

}  // namespace

const std::vector<RivalKind>& rival_stores()
{
    static const std::vector<RivalKind> kinds
    {
#if HEARTH_HAVE_SQLITE3
        {"sqlite", open<Sqlite>},
#endif
#if HEARTH_HAVE_LMDB
            {"lmdb", open<Lmdb>},
#endif
    };
    return kinds;
}

}  // namespace hearth::bench
