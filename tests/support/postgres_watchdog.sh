# Runs one throw-away Postgres for as long as standard input stays open: FOLDER BIN_DIR
# The test process holds the other end of the pipe. The system closes it however that
# process ends, SIGKILL included, so no server and no folder outlives its tests.
folder=$1
bin=$2
data=$folder/data
log=$folder/postgres.log

start() {
  "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C --no-sync &&
    cat "$folder/settings.conf" >>"$data/postgresql.conf" &&
    "$bin/pg_ctl" -D "$data" -l "$log" -w -t 60 start
}

# A standby of the server has its data beside it, in data-2.
stop() {
  for each in "$data" "$data"-*; do
    "$bin/pg_ctl" -D "$each" -m fast -w -t 10 stop ||
      "$bin/pg_ctl" -D "$each" -m immediate -w -t 10 stop
  done
}

touch "$log"
if start >"$folder/start.log" 2>&1; then
  echo ready
  cat >/dev/null
else
  cat "$folder/start.log" "$log" >&2
fi
stop >/dev/null 2>&1
cd / && rm -rf "$folder"
