import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { generate } from "../scripts/generate.ts";
import { compileQueries, compileScripts, readTexts } from "../scripts/sql_files.ts";
import { generateModule } from "../scripts/sql_module.ts";
import { type Dialect, sqlFile, tokenize } from "../scripts/sql_tokens.ts";
import type { Query } from "../src/query.ts";

const HEADER = `-- name: ping_all :many
--
-- Pings them all, and says so
-- in two lines.
--
-- A second paragraph.
--
-- param: ids    json   what to ping, as an
--                      array
-- param: after  ms?
-- row:   id     id
-- row:   data   json?
`;
const BODY = "select 1 as id, cast(:ids as text) as data where 1 < cast(:after as integer);\n";
const SCHEMA = "-- A page that teaches.\n-- version: 1\ncreate table workflows (id integer); -- Why\n";

function project(changes: Record<string, string | undefined> = {}): Map<string, string> {
  const texts = new Map<string, string>();
  for (const dialect of ["postgres", "sqlite"]) {
    texts.set(`sql/${dialect}/schema.sql`, SCHEMA);
    texts.set(`sql/${dialect}/queries/ping_all.sql`, `${HEADER}\n${BODY}`);
  }
  for (const [path, text] of Object.entries(changes)) {
    if (text === undefined) texts.delete(path);
    else texts.set(path, text);
  }
  return texts;
}

/** The query `q`, with the same body and declarations in both dialects. */
function query(dialect: Dialect, body: string, fields = "-- row: id id", kind = "many"): Query["postgres"] {
  const other = dialect === "postgres" ? "sqlite" : "postgres";
  const params = fields.match(/(?<=param: +)\w+/g) ?? [];
  const header = `-- name: q :${kind}\n-- Does it.\n${fields}\n`;
  const plain = `select 1 as id${params.map((name) => `, :${name}`).join("")};`;
  const compiled = compileQueries(
    new Map([
      [`sql/${dialect}/queries/q.sql`, `${header}\n${body}`],
      [`sql/${other}/queries/q.sql`, `${header}\n${plain}`],
    ]),
  );
  return compiled[0]?.query[dialect] ?? [];
}

function textOf(dialect: Dialect, body: string, fields?: string): string {
  return query(dialect, body, fields)[0]?.text ?? "";
}

function refuses(message: RegExp, changes: Record<string, string | undefined>): void {
  assert.throws(() => generateModule(project(changes)), { name: "Error", message });
}

/** Changes both dialects at once. */
function both(text: string, name = "ping_all"): Record<string, string> {
  return { [`sql/postgres/queries/${name}.sql`]: text, [`sql/sqlite/queries/${name}.sql`]: text };
}

describe("tokens", () => {
  const texts = (dialect: Dialect, text: string) =>
    tokenize(sqlFile("f.sql", dialect, text)).map((token) => `${token.kind} ${token.text}`);

  const cases: [Dialect, string, string[]][] = [
    ["sqlite", "select a1, 'it''s :x'", ["word select", "word a1", "symbol ,", "string 'it''s :x'"]],
    ["sqlite", '"a"":x" [b :x] `c``:x`', ['quoted "a"":x"', "quoted [b :x]", "quoted `c``:x`"]],
    ["postgres", "E'\\':x' e'a''b'", ["string E'\\':x'", "string e'a''b'"]],
    ["postgres", "re'x'", ["word re", "string 'x'"]],
    ["postgres", "$$ :x ' $$ $t$ $$ :y $t$", ["dollar $$ :x ' $$", "dollar $t$ $$ :y $t$"]],
    ["postgres", "a$b$ $1", ["word a$b$", "foreign $1"]],
    ["postgres", "/* a /* :b */ ' */ c", ["word c"]],
    ["sqlite", "/* a /* :b */ c", ["word c"]],
    ["postgres", "-- don't :x\n:y", ["param :y"]],
    ["postgres", "a::b :c", ["word a", "symbol ::", "word b", "param :c"]],
    ["postgres", "x ? 'k' @> 1.5", ["word x", "symbol ?", "string 'k'", "symbol @", "symbol >", "number 1.5"]],
    ["sqlite", "? ?1 @a $b", ["foreign ?", "foreign ?1", "foreign @a", "foreign $b"]],
  ];
  for (const [dialect, text, expected] of cases) {
    it(`${dialect} reads ${JSON.stringify(text)}`, () => assert.deepEqual(texts(dialect, text), expected));
  }

  const broken: [Dialect, string, RegExp][] = [
    ["postgres", "select\n'a", /f\.sql:2: Unterminated string, opened by '/],
    ["postgres", "E'a\\'", /f\.sql:1: Unterminated string, opened by E'/],
    ["postgres", '\n\n"a', /f\.sql:3: Unterminated quoted, opened by "/],
    ["sqlite", "[a", /f\.sql:1: Unterminated quoted, opened by \[/],
    ["sqlite", "`a", /f\.sql:1: Unterminated quoted, opened by `/],
    ["postgres", "1\n$a$ $$ $b$", /f\.sql:2: Unterminated dollar, opened by \$a\$/],
    ["postgres", "\n/* /* */", /f\.sql:2: Unterminated comment, opened by \/\*/],
    ["sqlite", "/* a", /f\.sql:1: Unterminated comment/],
    ["sqlite", "(\n(1)", /f\.sql:1: Unclosed "\("/],
    ["sqlite", "(1;\n)", /f\.sql:1: Unclosed "\("/],
    ["sqlite", "1\n)", /f\.sql:2: Unexpected "\)"/],
  ];
  for (const [dialect, text, message] of broken) {
    it(`${dialect} refuses ${JSON.stringify(text)}`, () => assert.throws(() => texts(dialect, text), { message }));
  }
});

describe("a statement", () => {
  const params = "-- param: b text\n-- param: a int\n-- row: id id";

  it("numbers the parameters of Postgres as they appear and reads each as text", () => {
    assert.deepEqual(query("postgres", "select cast(:b as text), :a,\n  :b;", params), [
      {
        text: "select cast(cast($1 as pg_catalog.text) as pg_catalog.text), cast($2 as pg_catalog.text),\n  cast($1 as pg_catalog.text)",
        params: ["b", "a"],
        rows: true,
      },
    ]);
  });

  it("keeps the parameters of SQLite", () => {
    assert.deepEqual(query("sqlite", "select cast(:b as text), :a, :b;", params), [
      { text: "select cast(:b as text), :a, :b", params: ["b", "a"], rows: true },
    ]);
  });

  it("loses comments, blank lines and line ends' blanks, and keeps lines", () => {
    const body = "/* a */ select 1, -- one  \n\n   -- two\n  2,/* b\n */3   \n\t/* c */ from t; -- d\n/* e */\n";
    assert.equal(textOf("postgres", body), "select 1,\n  2, 3\n\tfrom t");
    assert.equal(textOf("sqlite", body), "select 1,\n  2, 3\n\tfrom t");
  });

  it("keeps strings as they are", () => {
    assert.equal(textOf("postgres", "select 'a  \n\n -- b', $$ /* c */ $$;"), "select 'a  \n\n -- b', $$ /* c */ $$");
  });

  it("reads CRLF and a byte order mark like LF", () => {
    const dos = [...project()].map(([path, text]) => [path, `\uFEFF${text.replaceAll("\n", "\r\n")}`] as const);
    assert.equal(generateModule(new Map(dos)), generateModule(project()));
  });

  it("leaves a :name in quotes alone", () => {
    const quotes: Record<Dialect, [string, string][]> = {
      postgres: [["'", "'"], ["'''", "'"], ["E'\\'", "'"], ['"', '"'], ["$$", "$$"], ["$t$ $$", "$t$"], ["$t$'", "$t$"]],
      sqlite: [["'", "'"], ["'''", "'"], ['"', '"'], ['"""', '"'], ["[", "]"], ["`", "`"], ["```", "`"]],
    };
    const filling = fc.string({ unit: fc.constantFrom("a", " ", "\n", "--", "/*", "*/", ";", "(", ":b", "::", "?") });
    for (const dialect of ["postgres", "sqlite"] as const) {
      const property = fc.property(fc.constantFrom(...quotes[dialect]), filling, filling, ([open, close], left, right) => {
        const quoted = `${open}${left}:name${right}${close}`;
        assert.deepEqual(query(dialect, `select ${quoted};`), [{ text: `select ${quoted}`, params: [], rows: true }]);
      });
      fc.assert(property);
    }
  });

  it("is the same whatever comments are added", () => {
    const words = fc.constantFrom("a", ":p", "'it''s'", '"q"', ",", "1", "(select 2)", "=");
    const gaps = fc.constantFrom(" ", "\n", "\n  ");
    const noise = fc.constantFrom("it's", ":x", '"', ";", "(", "$$", "$1", "::", "`", "[");
    const comment = fc.oneof(noise.map((text) => `/* ${text}\n */ `), noise.map((text) => `-- ${text} */`));
    const part = fc.record({ word: words, gap: gaps, comment: fc.option(comment) });
    const property = fc.property(fc.constantFrom("postgres", "sqlite"), fc.array(part), (dialect, parts) => {
      const write = (commented: boolean) =>
        parts.map(({ gap, comment, word }) => {
          if (!commented || comment === null) return gap + word;
          // A line comment needs the end of a line.
          return comment.startsWith("--") && gap === " " ? gap + word : ` ${comment}${gap}${word}`;
        });
      const field = "-- param: p text\n-- row: id id";
      const body = (commented: boolean) => `select :p${write(commented).join("")};`;
      assert.deepEqual(query(dialect, body(true), field), query(dialect, body(false), field));
    });
    fc.assert(property);
  });
});

describe("the schema of Postgres", () => {
  const cases: [string, string][] = [
    ["select 1 from workflows as w join workflow_attempts a on a.x = w.x;", 'select 1 from "@schema".workflows as w join "@schema".workflow_attempts a on a.x = w.x'],
    ["insert into workflows as w (x) values (1) returning x;", 'insert into "@schema".workflows as w (x) values (1) returning x'],
    ["update workflows set x = 1 returning x;", 'update "@schema".workflows set x = 1 returning x'],
    ["update only /* a */ workflows set x = 1 returning x;", 'update only "@schema".workflows set x = 1 returning x'],
    ["delete from a using WORKFLOWS where true returning x;", 'delete from a using "@schema".WORKFLOWS where true returning x'],
    ["select version from skiplocked_schema;", 'select version from "@schema".skiplocked_schema'],
    ["select extract(epoch from workflows.at), workflows.x from\n  -- a\n  workflows;", 'select extract(epoch from workflows.at), workflows.x from\n  "@schema".workflows'],
    ["select count(*) as workflows from workflows for update of workflows;", 'select pg_catalog.count(*) as workflows from "@schema".workflows for update of workflows'],
    ["select 'from workflows', \"workflows\" from workflows_old;", "select 'from workflows', \"workflows\" from workflows_old"],
    ["select cast('workflows' as regclass);", "select cast(E'\"@schema-literal\".workflows' as pg_catalog.regclass)"],
    ["select nextval(cast('workflows_workflow_id_seq' as regclass));", "select pg_catalog.nextval(cast(E'\"@schema-literal\".workflows_workflow_id_seq' as pg_catalog.regclass))"],
    ["select to_regclass('skiplocked_schema');", "select pg_catalog.to_regclass(E'\"@schema-literal\".skiplocked_schema')"],
    ["select max(a.text), coalesce(f(text), 1) from t as a (x jsonb) where exists (select) and x = any(array(values (1)));", "select pg_catalog.max(a.text), coalesce(pg_catalog.f(pg_catalog.text), 1) from t as a (x pg_catalog.jsonb) where exists (select) and x = any(array(values (1)))"],
    ["select w.workflows from w;", "select w.workflows from w"],
    ["select 'workflows are', 'my_workflows_id_seq';", "select 'workflows are', 'my_workflows_id_seq'"],
  ];
  for (const [body, expected] of cases) {
    it(`compiles ${body}`, () => assert.equal(textOf("postgres", body), expected));
  }

  const doubtful = [
    "with workflows as (select 1) select 1 from workflows;",
    "with a as (select 1), workflows as (select 2) select 1;",
    "select 1 from a, workflows;",
    "select 'workflows';",
    "select md5('workflows_workflow_id_seq');",
  ];
  for (const body of doubtful) {
    it(`refuses ${body}`, () => assert.throws(() => textOf("postgres", `\n${body}`), { message: /q\.sql:6: Cannot tell whether / }));
  }
});

describe("the main database of SQLite", () => {
  const cases: [string, string][] = [
    ["select w.x from workflows as w indexed by i cross join workflow_attempts a;", "select w.x from main.workflows as w indexed by i cross join main.workflow_attempts a"],
    ["insert into WORKFLOWS (x) values (1) returning x;", "insert into main.WORKFLOWS (x) values (1) returning x"],
    ["update workflows set x = workflows.y returning x;", "update main.workflows set x = workflows.y returning x"],
    ["delete from workflow_attempts returning x;", "delete from main.workflow_attempts returning x"],
    ["select seq as workflows from sqlite_sequence where name = 'workflows';", "select seq as workflows from main.sqlite_sequence where name = 'workflows'"],
    ["select 'from workflows', \"workflows\" from json_each('[]');", "select 'from workflows', \"workflows\" from json_each('[]')"],
  ];
  for (const [body, expected] of cases) {
    it(`compiles ${body}`, () => assert.equal(textOf("sqlite", body), expected));
  }

  for (const body of ["with workflows as (select 1) select 1 from workflows;", "select 1 from a, workflows;", "select 1 from a, sqlite_sequence;"]) {
    it(`refuses ${body}`, () => assert.throws(() => textOf("sqlite", `\n${body}`), { message: /q\.sql:6: Cannot tell whether / }));
  }

  for (const body of ["select * from t;", "select a.* from a;", "select 1, * from t;", "delete from t returning *;"]) {
    it(`refuses ${body}`, () => assert.throws(() => textOf("sqlite", `\n${body}`), { message: /q\.sql:6: Unexpected "\*", name the columns/ }));
  }

  it("counts and multiplies", () => {
    const body = "select count(*), 2 * 3 from t";
    assert.equal(textOf("sqlite", `${body};`), body);
  });

  const definitions: [string, string][] = [
    ["create table if not exists workflows (id integer);", "create table if not exists main.workflows (id integer);"],
    ["create table mine (id integer);", "create table main.mine (id integer);"],
    ["create unique index if not exists workflows_x on workflows (x);", "create unique index if not exists main.workflows_x on workflows (x);"],
    ["create index i on workflow_attempts (x) where y > 0;", "create index main.i on workflow_attempts (x) where y > 0;"],
    ["drop index if exists i;", "drop index if exists main.i;"],
    ["drop table workflows;", "drop table main.workflows;"],
    ["alter table workflow_attempts add column x text;", "alter table main.workflow_attempts add column x text;"],
    ["insert into sqlite_sequence select 'workflows' from workflows;", "insert into main.sqlite_sequence select 'workflows' from main.workflows;"],
    ["select 1 from pragma_table_info('workflows'), pragma_index_info('i', 'temp');", "select 1 from pragma_table_info('workflows', 'main'), pragma_index_info('i', 'temp');"],
  ];
  for (const [text, expected] of definitions) {
    it(`compiles ${text}`, () => {
      const texts = project({ "sql/sqlite/schema.sql": `-- version: 1\n${text}\n` });
      assert.equal(compileScripts(texts, "sqlite").schema.text, expected);
    });
  }
});

describe("a transaction", () => {
  const begin: Record<Dialect, string> = { postgres: "begin;", sqlite: "begin immediate;" };
  for (const dialect of ["postgres", "sqlite"] as const) {
    it(`is several statements of ${dialect}`, () => {
      const body = `${begin[dialect]}\n-- Why\nupdate t set a = :p;\nselect 2;\ncommit;`;
      const [first, second] = query(dialect, body, "-- param: p int\n-- row: id id");
      assert.deepEqual(first?.params, ["p"]);
      assert.equal(first?.rows, false);
      assert.deepEqual(second, { text: "select 2", params: [], rows: true });
    });
  }

  const rows: [string, boolean[]][] = [
    ["select 1;", [true]],
    ["values (1);", [true]],
    ["select 1 from t for update;", [true]],
    ["begin; select 1 from t for update; select 2; commit;", [false, true]],
    ["begin; select 1 from t for no key update of t; select 2 for share; commit;", [false, true]],
    ["begin; select 1 from t for key share; select 2; commit;", [false, true]],
    ["begin; select 1 from (select 1 from t for update) as t; select 2; commit;", [true, true]],
    ["begin; insert into t values (1); update t set a = 1 returning a; commit;", [false, true]],
    ["begin; insert into t select 1 where exists (select 1); select 1; commit;", [false, true]],
    ["begin; with a as (delete from t returning a) insert into t select a from a; select 1; commit;", [false, true]],
    ["with recursive a (x) as not materialized (update t set x = 1), b as (values (1)) select 1;", [true]],
    ["with a as (select 1) insert into t select a from a returning x;", [true]],
    ["with a as (select 1) values (1);", [true]],
    ["begin; with a as (select 1) merge into t using a on true when matched then do nothing; select 1; commit;", [false, true]],
    ["begin; lock table t; select 1; commit;", [false, true]],
  ];
  for (const [body, expected] of rows) {
    it(`tells rows in ${body}`, () => assert.deepEqual(query("postgres", body).map((statement) => statement.rows), expected));
  }

  it("has no rows where none are declared", () => {
    const statement = query("postgres", "select 1;", "", "exec");
    assert.deepEqual(statement.map(({ rows }) => rows), [false]);
  });

  const broken: [Dialect, string, RegExp][] = [
    ["postgres", "select 1;\nselect 2;", /:6: Second statement found/],
    ["postgres", "begin;\nselect 1;", /:5: Transaction has no end, write "commit;"/],
    ["postgres", "begin;", /:5: Transaction has no end/],
    ["postgres", "begin; commit;", /No statement found/],
    ["postgres", "begin immediate; select 1; commit;", /Write "begin;" to open the transaction, got "begin immediate;"/],
    ["sqlite", "begin; select 1; commit;", /Write "begin immediate;" to open the transaction, got "begin;"/],
    ["postgres", "begin; select 1;\ncommit; select 2; commit;", /:6: Unexpected "commit"/],
    ["postgres", "select 1;\ncommit;", /:6: Unexpected "commit"/],
    ["postgres", "begin; rollback; commit;", /:5: Unexpected "rollback"/],
    ["postgres", "begin; select 1; commit; select 2;", /Transaction has no end/],
    ["postgres", "select 1", /:5: Statement has no end, write ";"/],
    ["postgres", "select 1;\n\n;", /:7: Nothing to end here/],
    ["postgres", "-- nothing", /No statement found/],
    ["postgres", "update t set a = 1;", /:1: Query is :many, but no statement gives rows/],
  ];
  for (const [dialect, body, message] of broken) {
    it(`of ${dialect} is not ${JSON.stringify(body)}`, () => assert.throws(() => query(dialect, body), { message }));
  }
});

describe("a body", () => {
  const fields = "-- param: p int\n-- row: id id";
  const broken: [Dialect, string, RegExp][] = [
    ["sqlite", "select :p,\n :x;", /queries\/q\.sql:7: Undeclared parameter "x", add "-- param: x <type>"/],
    ["postgres", "select :P, :p;", /Undeclared parameter "P"/],
    ["postgres", "select ':p';", /:3: Unused parameter "p"/],
    ["postgres", "select :p\n::int;", /:7: Unexpected "::", write cast/],
    ["sqlite", "select a::b, :p;", /Unexpected "::"/],
    ["postgres", "select a := :p;", /:6: Unexpected ":"/],
    ["postgres", "select :'p', :p;", /Unexpected ":"/],
    ["postgres", "select :p, a[1:2];", /Unexpected ":"/],
    ["postgres", "select a[1:p];", /Unexpected ":"/],
    ["postgres", "select a[b:p];", /Unexpected ":"/],
    ["postgres", "select a[(1):p];", /Unexpected ":"/],
    ["postgres", "select $1, :p;", /Unexpected "\$1", write parameters as :name/],
    ["sqlite", "select ?, :p;", /Unexpected "\?"/],
    ["sqlite", "select @p, :p;", /Unexpected "@p"/],
  ];
  for (const [dialect, body, message] of broken) {
    it(`of ${dialect} is not ${JSON.stringify(body)}`, () => assert.throws(() => query(dialect, body, fields), { message }));
  }

  it("may use a parameter in one statement of several only", () => {
    assert.equal(query("postgres", "begin; select :p; select 1; commit;", fields).length, 2);
  });
});

describe("a header", () => {
  const edit = (from: string, to: string) => `${HEADER.replace(from, to)}\n${BODY}`;
  const broken: [string, RegExp, string, string][] = [
    ["lacks the name", /postgres\/queries\/ping_all\.sql:1: First line must be "-- name: /, "-- name: ping_all :many\n", ""],
    ["has another kind", /:1: First line must be/, ":many", ":some"],
    ["has the name of another file", /:1: Name "ping" must be the name of the file/, "ping_all", "ping"],
    ["has no prose", /:2: Header has no prose/, HEADER.slice(HEADER.indexOf("\n--\n"), HEADER.indexOf("-- param")), "\n"],
    ["has an unknown type", /:8: Unknown type "jsonb", use one of id, int, ms, bool, text, json/, "json   what", "jsonb what"],
    ["has a doubly nullable type", /:10: Unknown type "ms\?\?"/, "ms?", "ms??"],
    ["has a field without a type", /:10: Cannot read "-- param: after"/, "after  ms?", "after"],
    ["misspells a field", /:11: Cannot read "-- rows:/, "-- row:", "-- rows:"],
    ["has a parameter twice", /:10: Duplicate param "ids"/, "after", "ids"],
    ["has a column twice", /:12: Duplicate row "id"/, "data", "id"],
    ["has a parameter in camelCase", /:10: Name "afterMs" must be lower_snake_case/, "after ", "afterMs "],
    ["has a keyword as a parameter", /:10: Parameter "limit" is an SQL keyword/, "after", "limit"],
    ["declares rows of an :exec", /:11: Row "id" is declared, but the query is :exec/, ":many", ":exec"],
  ];
  for (const [what, message, from, to] of broken) {
    it(`is refused when it ${what}`, () => refuses(message, both(edit(from, to))));
  }

  it("is refused when it declares no rows of a :one", () => {
    const text = `-- name: ping :one\n-- Pings.\n\nselect 1;`;
    refuses(/ping\.sql:1: Query is :one, but no row is declared/, both(text, "ping"));
  });

  it("must be the same in both dialects", () => {
    const message = [
      "sql/sqlite/queries/ping_all.sql:6: Header differs from sql/postgres/queries/ping_all.sql:6; " +
        'make them equal, or move what differs to the end, after "-- In this dialect:"',
      "  sql/postgres/queries/ping_all.sql: -- A second paragraph.",
      "  sql/sqlite/queries/ping_all.sql: -- Another paragraph.",
    ].join("\n");
    const changes = { "sql/sqlite/queries/ping_all.sql": edit("A second", "Another") };
    assert.throws(() => generateModule(project(changes)), { message });
  });

  it("must be as long in both dialects", () => {
    const message = /sqlite\/queries\/ping_all\.sql:13: Header differs(.|\n)*postgres.*: \(nothing\)\n.*sqlite.*: -- More\.$/;
    refuses(message, { "sql/sqlite/queries/ping_all.sql": `${HEADER}-- More.\n\n${BODY}` });
  });

  it("may end in a note on the dialect", () => {
    const text = `${HEADER}--\n-- In this dialect: it is\n-- another way.\n\n${BODY}`;
    assert.equal(generateModule(project({ "sql/sqlite/queries/ping_all.sql": text })), generateModule(project()));
  });

  it("declares nothing in the note", () => {
    const text = `${HEADER}-- In this dialect: so.\n-- row: more id\n\n${BODY}`;
    refuses(/:14: "-- row: more id" must stand before "-- In this dialect:"/, both(text));
  });

  it("must have a file in both dialects", () => {
    refuses(/sql\/postgres\/queries\/ping_all\.sql:1: Query is missing .* write sql\/sqlite\/queries\/ping_all\.sql/, {
      "sql/sqlite/queries/ping_all.sql": undefined,
    });
    refuses(/sql\/sqlite\/queries\/ping_all\.sql:1: Query is missing .* write sql\/postgres\/queries\/ping_all\.sql/, {
      "sql/postgres/queries/ping_all.sql": undefined,
    });
  });
});

describe("a script", () => {
  const schema = (text: string) => compileScripts(project({ "sql/postgres/schema.sql": `-- version: 1\n${text}` }), "postgres").schema.text;

  it("loses its comments and the transaction around it", () => {
    const body = "\nbegin;\n\n-- One\ncreate table a (\n  b integer -- c\n);\n\ninsert into workflows values (':x');\ncommit;\n-- End";
    assert.equal(schema(body), "create table a (\n  b integer\n);\ninsert into workflows values (':x');");
  });

  it("keeps bodies of functions as they are", () => {
    assert.equal(schema("do $$\n  -- a;\n\nbegin commit; end $$;"), "do $$\n  -- a;\n\nbegin commit; end $$;");
  });

  it("may hold a trigger of SQLite", () => {
    const trigger = "create trigger t after insert on a begin\n  delete from b;\n  select 1;\nend;";
    const texts = project({ "sql/sqlite/schema.sql": `-- version: 1\nbegin immediate;\n${trigger}\ncommit;` });
    assert.equal(compileScripts(texts, "sqlite").schema.text, trigger.replace("t after", "main.t after"));
  });

  it("is refused when its transaction is not one", () => {
    assert.throws(() => schema("begin;\nselect 1;"), { message: /schema\.sql:2: Transaction has no end/ });
    assert.throws(() => schema("select 1;\ncommit;"), { message: /schema\.sql:3: Unexpected "commit"/ });
    assert.throws(() => schema("begin;\ncommit;\nbegin;\ncommit;"), { message: /schema\.sql:3: Unexpected "commit"/ });
  });

  it("must be there and have a version", () => {
    refuses(/^sql\/sqlite\/schema\.sql: No such file/, { "sql/sqlite/schema.sql": undefined });
    refuses(/^sql\/sqlite\/schema\.sql:1: Schema has no version/, { "sql/sqlite/schema.sql": "select 1;" });
  });

  const upgrade = (...names: string[]) => Object.fromEntries(names.map((name) => [`sql/sqlite/upgrades/${name}.sql`, `select '${name}';`]));
  const three = { "sql/sqlite/schema.sql": "-- version: 3\nselect 1;" };

  it("has upgrades that lead to its version", () => {
    const { schema, upgrades } = compileScripts(project({ ...three, ...upgrade("0003_b", "0002_a") }), "sqlite");
    assert.equal(schema.version, 3);
    assert.deepEqual(upgrades, [{ version: 2, text: "select '0002_a';" }, { version: 3, text: "select '0003_b';" }]);
  });

  it("is refused when its upgrades do not", () => {
    refuses(/schema\.sql:1: Schema has version 3, but the upgrades lead to 1;/, three);
    refuses(/schema\.sql:1: Schema has version 3, but the upgrades lead to 2;/, { ...three, ...upgrade("0002_a") });
    refuses(/schema\.sql:1: Schema has version 1, but the upgrades lead to 2;/, upgrade("0002_a"));
    refuses(/0003_b\.sql:1: File must be called 0002_<name>\.sql/, { ...three, ...upgrade("0003_b") });
    refuses(/0002_b\.sql:1: File must be called 0003_<name>\.sql/, { ...three, ...upgrade("0002_a", "0002_b") });
    refuses(/first\.sql:1: File must be called 0002_<name>\.sql/, { ...three, ...upgrade("first") });
  });

  it("may come with one that adopts tables", () => {
    const texts = project({ ...three, ...upgrade("0002_a", "0003_b"), "sql/sqlite/adopt.sql": "begin immediate;\nselect 2;\ncommit;" });
    assert.deepEqual(compileScripts(texts, "sqlite").adopt, { version: 3, text: "select 2;" });
    assert.equal(compileScripts(project(), "sqlite").adopt, null);
  });
});

const MODULE = `// Generated from sql/ by scripts/generate.ts. Do not edit.

import type { Query, Script } from "./query.ts";

/** Parameters of {@linkcode clear}. */
export type ClearParams = Record<string, never>;

/** Clears \`all\` *\\/. */
export const clear: Query<ClearParams, never> = {
  name: "clear",
  columns: [],
  postgres: [
    {
      text: \`delete from t where a <> '\\\`\\\${b}\\\\'\`,
      params: [],
      rows: false,
    },
  ],
  sqlite: [
    {
      text: \`delete from t where a <> '\\\`\\\${b}\\\\'\`,
      params: [],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode pingAll}. */
export interface PingAllParams {
  /** what to ping, as an array */
  ids: string;
  after: number | null;
}

/** A row of {@linkcode pingAll}. */
export interface PingAllRow {
  id: string;
  data: unknown;
}

/**
 * Pings them all, and says so
 * in two lines.
 */
export const pingAll: Query<PingAllParams, PingAllRow> = {
  name: "ping_all",
  columns: [
    ["id", "id"],
    ["data", "json?"],
  ],
  postgres: [
    {
      text: \`select 1 as id, cast(cast($1 as pg_catalog.text) as pg_catalog.text) as data where 1 < cast(cast($2 as pg_catalog.text) as integer)\`,
      params: ["ids", "after"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: \`select 1 as id, cast(:ids as text) as data where 1 < cast(:after as integer)\`,
      params: ["ids", "after"],
      rows: true,
    },
  ],
};

/** The tables: the whole of the current schema, and the way there from each version before. */
export const schemas: {
  readonly postgres: { readonly schema: Script; readonly upgrades: readonly Script[] };
  readonly sqlite: { readonly schema: Script; readonly upgrades: readonly Script[]; readonly adopt: Script | null };
} = {
  postgres: {
    schema: {
      version: 1,
      text: \`create table workflows (id integer);\`,
    },
    upgrades: [],
  },
  sqlite: {
    schema: {
      version: 1,
      text: \`create table main.workflows (id integer);\`,
    },
    upgrades: [],
    adopt: null,
  },
};
`;

describe("the module", () => {
  const clear = "-- name: clear :exec\n-- Clears `all` */.\n\ndelete from t where a <> '`${b}\\';\n";

  it("is written so", () => assert.equal(generateModule(project(both(clear, "clear"))), MODULE));

  it("does not depend on the order of the files", () => {
    const reversed = new Map([...project(both(clear, "clear"))].reverse());
    assert.equal(generateModule(reversed), MODULE);
  });

  describe("on disk", () => {
    const folder = mkdtempSync(join(tmpdir(), "skiplocked-generator-"));
    const root = pathToFileURL(`${folder}/`);
    before(() => {
      for (const [path, text] of project(both(clear, "clear"))) {
        mkdirSync(new URL(".", new URL(path, root)), { recursive: true });
        writeFileSync(new URL(path, root), text);
      }
      mkdirSync(new URL("src/", root));
    });
    after(() => rmSync(folder, { recursive: true }));

    const stale = { message: "src/sql.gen.ts is out of date, run: node --import tsx scripts/generate.ts" };

    it("is written and checked", () => {
      assert.throws(() => generate(root, { check: true }), stale);
      generate(root, { check: false });
      assert.equal(readFileSync(new URL("src/sql.gen.ts", root), "utf8"), MODULE);
      generate(root, { check: true });
      writeFileSync(new URL("src/sql.gen.ts", root), `${MODULE}\n`);
      assert.throws(() => generate(root, { check: true }), stale);
    });
  });

  it("that is checked in is up to date", () => {
    const root = new URL("../", import.meta.url);
    const checkedIn = readFileSync(new URL("src/sql.gen.ts", root), "utf8");
    assert.equal(checkedIn, generateModule(readTexts(root)), "run: node --import tsx scripts/generate.ts");
  });
});
