import type { Call } from "./sqlite_calls.ts";
import { answerOf } from "./sqlite_json.ts";
import { rows } from "./sqlite_table.ts";

/** What statements and scripts say that they changed. */
export const SCRIPT_SEQUENCES: Record<string, Call> = {
  "changes of triggers": (db) => {
    db.run("create trigger g after delete on t begin update t set v = 1; end");
    return [db.run("delete from t where id = 1"), db.query("delete from t where id = 2").run(), db.run("delete from t; delete from t")];
  },
  "changes of triggers instead of": (db) => {
    db.run("create view w as select * from t; create trigger g instead of insert on w begin insert into t (v) values (1), (2); end");
    return [db.run("insert into w values (9, 9)"), db.run("update t set v = 0; insert into w values (9, 9)"), rows(db)];
  },
  "changes of cascades": (db) => {
    db.run("create table c (t integer references t on delete cascade); insert into c values (1), (1), (2)");
    return [db.run("delete from t where id = 1"), db.query("select * from c").values()];
  },
  "changes of a script": (db) => db.run("update t set v = 0; delete from t where id = 1; select 1; create table u (a); delete from t where id = 99"),
  "changes that are rolled back": (db) => [db.run("begin; update t set v = 0; rollback"), rows(db)],
  "changes of a read": (db) => [db.run("insert into t (v) values (1)"), db.run("select 1"), db.query("select 1").run()],
  "changes of what makes tables": (db) => [db.run("create table u as select * from t"), db.run("alter table t add column w default 1; pragma user_version = 3")],
  "changes of returning": (db) => [db.query("insert into t (v) values (1), (2) returning id").run(), db.run("delete from t returning id")],
  "lastInsertRowid with safeIntegers": (db) => {
    const insert = db.prepare("insert into t (v) values (1)").safeIntegers(true);
    return [insert.safeIntegers(), insert.run(), db.run("insert into t (v) values (1)")];
  },
  "lastInsertRowid beyond 2^53": (db) => db.run("insert into t (id) values (9007199254740993)"),

  "a script with parameters": (db) => [db.run("insert into t (v) values (?); insert into t (v) values (5)", 4), rows(db)],
  "a script with named parameters": (db) => [db.run("insert into t (v) values (:v); update t set v = 1 where id = 1", { v: 4 }), rows(db)],
  "a script whose second statement has parameters": (db) => [db.run("insert into t (v) values (?); insert into t (v) values (:v)", 4), rows(db)],
  "a script with an array": (db) => [db.run("insert into t (v) values (?), (?)", [4, 5]), rows(db)],
  "a script that fails midway": (db) => [answerOf(() => db.run("insert into t (v) values (4); insert into t (id) values (1); insert into t (v) values (5)")), rows(db)],
  "a script of a trigger and more": (db) => {
    db.exec("create trigger g after insert on t begin update t set v = 'x;y' where id = 1; delete from t where id = 2; end; -- ;\n insert into t (v) values (';')");
    return rows(db);
  },
  "a script that ends in a comment": (db) => [db.run("insert into t (v) values (4); -- and no more"), db.run("insert into t (v) values (5) /* ; */ ;;"), rows(db)],
  "a script with nothing in it": (db) => ["", " ", ";", "-- a"].map((sql) => answerOf(() => db.run(sql))),
  "a script that begins and commits": (db) => [db.run("begin; insert into t (v) values (4)"), db.inTransaction, db.run("commit"), db.inTransaction],
  "a script whose read fails at its second row": (db) => db.run("select json(v) from (select '[]' as v union all select '{')"),
};
