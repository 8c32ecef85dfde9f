/**
 * SQL that makes two schemas for a search_path, full of things that must not be found in them: each has our names and those
 * of the system, and whatever is called in it raises an error.
 *
 * `shadows` comes after pg_catalog, which is searched first unless it is listed: a function or operator in it is found all the
 * same where its types fit better. `darker_shadows` comes before pg_catalog. Operators are not in it: they cannot be told
 * from those of the system but by `operator(pg_catalog.=)`, in every place.
 */
export const SHADOWS = `
  create schema shadows;
  create schema darker_shadows;
  do $make$
  declare
    place text;
    called text;
    one text;
    other text;
    types constant text[] := array['text', 'varchar', 'name', 'bigint', 'integer', 'smallint', 'numeric', 'double precision',
      'boolean', 'timestamptz', 'timestamp', 'interval', 'jsonb', 'json', 'xid', 'regclass', 'text[]', 'integer[]', 'bigint[]'];
    body constant text := 'language plpgsql as $body$ begin raise exception ''a shadow was called'' using errcode = ''XX001''; end $body$';
  begin
    foreach place in array array['shadows', 'darker_shadows'] loop
      foreach called in array array['workflows', 'workflow_attempts', 'skiplocked_schema', 'wanted', 'near', 'stamp', 'silent'] loop
        execute format('create table %I.%I (shadow integer)', place, called);
      end loop;
      execute format('create sequence %I.workflows_workflow_id_seq', place);
      foreach called in array array['array_agg', 'array_fill', 'clock_timestamp', 'count', 'current_setting', 'extract', 'floor', 'hashtext',
        'jsonb_array_elements_text', 'jsonb_to_recordset', 'max', 'min', 'nextval', 'now', 'pg_advisory_xact_lock',
        'pg_sequence_last_value', 'row_number', 'set_config', 'setval', 'sum', 'timezone', 'to_char', 'workflows', 'workflow_attempts'] loop
        execute format('create function %I.%I() returns bigint %s', place, called, body);
        foreach one in array types loop
          execute format('create function %I.%I(%s) returns bigint %s', place, called, one, body);
          foreach other in array array['text', 'bigint', 'integer', 'integer[]', 'boolean'] loop
            execute format('create function %I.%I(%s, %s) returns bigint %s', place, called, one, other, body);
          end loop;
        end loop;
      end loop;
    end loop;

    foreach one in array types loop
      foreach other in array types loop
        execute format('create function shadows.operation(%s, %s) returns boolean %s', one, other, body);
        foreach called in array array['=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '||', '->', '->>'] loop
          execute format('create operator shadows.%s (leftarg = %s, rightarg = %s, function = shadows.operation)', called, one, other);
        end loop;
      end loop;
    end loop;

    foreach called in array array['pg_class', 'pg_namespace', 'pg_attribute', 'pg_type'] loop
      execute format('create view darker_shadows.%I as select 1 as shadow', called);
    end loop;
    foreach called in array array['text', 'jsonb', 'timestamptz', 'regclass', 'int8', 'xid'] loop
      execute format('create domain darker_shadows.%I as pg_catalog.int4 check (false)', called);
    end loop;
  end $make$;`;
